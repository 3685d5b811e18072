// Example bodies for the OpenAPI document, by operation id, for routes without their own. They form one small scenario and can
// be sent one after the other.

const ann = { type: 'Person', id: 'ann' }
const car = { type: 'Car', id: 'c1' }
const drive = { name: 'drive' }
const annNode = { type: 'Person', external_id: 'ann' }
const carNode = { type: 'Car', external_id: 'c1' }
const owns = { source: annNode, type: 'OWNS', target: carNode }

/** Operation id → example body. */
export const examples: Readonly<Record<string, unknown>> = {
  upsertNodes: {
    nodes: [
      { ...annNode, is_identity: true },
      {
        ...carNode,
        properties: [
          { type: 'wheels', value: 4 },
          { type: 'colour', value: 'red', metadata: { source: 'registry', assurance_level: 2 } },
        ],
      },
    ],
  },
  upsertRelationships: { relationships: [{ ...owns, properties: [{ type: 'since', value: '2026-01-01' }] }] },
  evaluate: { subject: ann, action: drive, resource: car, context: { input_params: { min: 4 } } },
  evaluateMany: {
    subject: ann,
    action: drive,
    evaluations: [{ resource: car }, { resource: { type: 'Car', id: 'c2' } }],
  },
  searchResources: { subject: ann, action: drive, resource: { type: 'Car' } },
  searchSubjects: { subject: { type: 'Person' }, action: drive, resource: car },
  searchActions: { subject: ann, resource: car },
  listWhatAuthorized: { subject: ann, evaluations: [{ action: drive, resource: { type: 'Car' } }] },
  listWhoAuthorized: { evaluations: [{ action: drive, resource: car }] },
}
