// The schema of a scenario file: a graph, policies, and the expected answers. docs/reference/scenario-files.md describes it.
import { z } from 'zod'
import { intentions } from '../authorizer/intended-issues.ts'
import { isJsonObject } from '../kernel/json/json-kind.ts'
import { DEFAULT_POLICY_VERSION, policyFiles } from '../project/file-kinds.ts'
import { queryFiles } from '../project/query-files.ts'

/** A list whose entries are validated one by one, so that an error names its entry. */
function entries(item: z.ZodType) {
  return z
    .array(z.unknown())
    .meta({ documentedAs: z.array(item) })
    .optional()
}

const entityForm = { error: 'expected `Type:id`, or an object with `type` and `id`' }
const entity = z
  .union(
    [
      z.string().regex(/^[^:]+:[\s\S]+$/, entityForm),
      z.strictObject({ type: z.string(), id: z.string(), properties: z.record(z.string(), z.unknown()).optional() }),
    ],
    entityForm,
  )
  .meta({ id: 'ScenarioEntity' })

const params = z.record(z.string(), z.unknown()).meta({ id: 'ScenarioParameters' })
const claims = z.record(z.string(), z.unknown())

/** The user of a token. Type and id are by default those of the subject. */
const tokenSchema = z
  .strictObject({
    type: z.string().optional().describe('default: the type of the subject'),
    id: z.string().optional().describe('default: the id of the subject'),
    claims: claims.optional().describe('what policies read as `$token`'),
    delegation: claims.optional().describe('what policies read as `$svc_token`'),
  })
  .meta({ id: 'ScenarioToken' })

const call = {
  params: params.optional().describe('a value for each parameter, by its name without `$`'),
  tags: z.array(z.string()).optional().describe('only policies with one of these tags are evaluated'),
  token: z
    .union([z.string(), tokenSchema, z.null()], {
      error: 'expected the name of a token, an object with `claims`, or null for a request without a token on purpose',
    })
    .optional()
    .describe('the name of one of `tokens`, or a token; null: no token, on purpose'),
}

const name = z.string().min(1)
const intentionNames = intentions.map((one) => `\`${one}\``).join(' or ')
const intention = z.enum(intentions).meta({ id: 'ExpectedDenial' })
/** A list, or why the answer is empty. */
function listOr(items: z.ZodType) {
  return z.union([z.array(items), intention], { error: `expected a list of items, or ${intentionNames}` })
}
/** A text of which an answer must have a part: the empty text is a part of each. */
const part = z.string().min(1, 'expected a part of a text; the empty text is a part of every one')
const ids = listOr(z.union([z.string(), z.int()], { error: 'expected an id' })).describe(
  'external ids, in any order; or why nothing is found',
)
// `error` is the former name of `refused`.
const answer = z.enum(['yes', 'no', ...intentions, 'error']).meta({ id: 'ExpectedAnswer' })

/** The forms of an entry: a list for the usual case, an object for every case. */
interface EntryForms {
  readonly object: z.ZodObject
  /** The cells are the members `members`, in this order. */
  readonly lists: readonly ListForm[]
}

interface ListForm {
  readonly schema: z.ZodTuple
  readonly members: readonly string[]
}

function forms(object: z.ZodObject, ...lists: readonly (readonly ListForm[])[]): EntryForms {
  return { object, lists: lists.flat() }
}

/** The form with all cells, and the one without `params`, for a question without parameters. */
function list(members: readonly string[], cells: readonly z.ZodType[]): readonly ListForm[] {
  const at = members.indexOf('params')
  const formOf = (kept: readonly string[], types: readonly z.ZodType[]): ListForm => ({
    members: kept,
    schema: z.tuple(types as [z.ZodType, ...z.ZodType[]]) as unknown as z.ZodTuple,
  })
  return [formOf(members, cells), formOf(members.toSpliced(at, 1), cells.toSpliced(at, 1))]
}

/** The list form of an entry, by the number of its cells and by whether it has parameters; undefined: no form fits. */
export function listFormOf({ lists }: EntryForms, entry: readonly unknown[]): ListForm | undefined {
  const candidates = lists.filter(({ members }) => members.length === entry.length)
  const withParameters = candidates.find(({ members }) => isJsonObject(entry[members.indexOf('params')]))
  return withParameters ?? candidates.at(-1)
}

const typeCell = z.strictObject({ type: name })

/** The forms of the entries of each list of answers. */
export const entryForms = {
  decisions: forms(
    z
      .strictObject({ subject: entity, action: name, resource: entity, ...call, expect: answer })
      .meta({ id: 'ScenarioDecision' }),
    list(['subject', 'action', 'resource', 'params', 'expect'], [entity, name, entity, params, answer]),
  ),
  resources: forms(
    z
      .strictObject({ subject: entity, action: name, type: name.optional(), ...call, ids })
      .meta({ id: 'ScenarioResourceSearch' }),
    list(['subject', 'action', 'params', 'ids'], [entity, name, params, ids]),
    list(['subject', 'action', 'params', 'ids', 'type'], [entity, name, params, ids, typeCell]),
  ),
  subjects: forms(
    z.strictObject({ type: name, action: name, resource: entity, ...call, ids }).meta({ id: 'ScenarioSubjectSearch' }),
    list(['type', 'action', 'resource', 'params', 'ids'], [name, name, entity, params, ids]),
  ),
  actions: forms(
    z
      .strictObject({ subject: entity, resource: entity, ...call, actions: listOr(name) })
      .meta({ id: 'ScenarioActionSearch' }),
    list(['subject', 'resource', 'params', 'actions'], [entity, entity, params, listOr(name)]),
  ),
  rows: forms(
    z
      .strictObject({
        query: name.describe('the name of a knowledge query'),
        params: call.params,
        token: call.token,
        rows: z
          .union([z.array(z.record(z.string(), z.unknown())), intention.exclude(['failed'])], {
            error: 'expected a list of rows, or the reason why there is none; a query that fails is `refused`',
          })
          .describe('values by requested path, in any order; or the reason why the test expects no list'),
      })
      .meta({ id: 'ScenarioRows' }),
  ),
  explanations: forms(
    z
      .strictObject({
        subject: entity,
        action: name,
        resource: entity,
        ...call,
        outcomes: z
          .record(z.string(), z.enum(['granted', 'denied', 'forbidden', 'passed', 'faulted', 'skipped']))
          .refine((outcomes) => Object.keys(outcomes).length > 0, 'expected the outcome of at least one policy')
          .optional()
          .describe('outcomes by name of the policy; other policies may have any outcome'),
        reached: part.optional().describe('a part of the last step with rows, of one of the policies'),
        stopped: part.optional().describe('a part of what stopped one of the policies'),
      })
      .refine(
        ({ outcomes, reached, stopped }) => outcomes !== undefined || reached !== undefined || stopped !== undefined,
        'expected `outcomes`, `reached` or `stopped`: without them every explanation is right',
      )
      .meta({ id: 'ScenarioExplanation' }),
  ),
  refused: forms(
    z
      .strictObject({
        cypher: z.string(),
        version: z.string().optional(),
        subject: name.optional().describe('default: Person'),
        resource: name.optional().describe('default: Document'),
        'message-contains': part.describe('a part of the error'),
      })
      .meta({ id: 'RefusedCondition' }),
  ),
} as const satisfies Readonly<Record<string, EntryForms>>

/** A list of answers. */
export type AnswerList = keyof typeof entryForms

function documented({ object, lists }: EntryForms): z.ZodType {
  return lists.length === 0 ? object : z.union([object, ...lists.map(({ schema }) => schema)])
}

/** A document within a scenario: as a file, also with a name, and with `action` in place of `actions`. */
function inline(schema: z.ZodType | undefined): z.ZodType {
  const alternatives = schema instanceof z.ZodUnion ? schema.options : []
  return z.union(
    alternatives.map((alternative) => {
      const { shape } = alternative as z.ZodObject
      const { actions } = shape
      return z.strictObject({
        ...shape,
        name: name.optional(),
        ...(actions !== undefined && { actions: (actions as z.ZodType).optional(), action: name.optional() }),
      })
    }),
  )
}

/** A scenario file. */
export const scenarioSchema = z
  .strictObject({
    description: z.string().optional(),
    project: z
      .string()
      .optional()
      .describe(
        'a project folder, relative to this file. Default without `policies`: the nearest folder above with `verdigraph.yaml`',
      ),
    version: z.string().optional().describe(`the version of policies without one; default: ${DEFAULT_POLICY_VERSION}`),
    graph: z
      .union(
        [
          z.string(),
          z.strictObject({
            nodes: z.array(z.record(z.string(), z.unknown())).optional(),
            relationships: z.array(z.record(z.string(), z.unknown())).optional(),
          }),
        ],
        { error: 'expected a text in arrow notation, or an object with `nodes` and `relationships`' },
      )
      .optional()
      .describe('in arrow notation, or as items to capture'),
    model: z.string().optional().describe('the text of a model, in place of that of the project'),
    policies: entries(inline(policyFiles.schema)).describe(
      'as files of the folder `policies`, also with `name`, and `action` in place of `actions`',
    ),
    queries: entries(inline(queryFiles.schema)).describe('as files of the folder `queries`, also with `name`'),
    tokens: z.record(z.string(), tokenSchema).optional().describe('tokens by name'),
    decisions: entries(documented(entryForms.decisions)),
    resources: entries(documented(entryForms.resources)).describe('resource searches'),
    subjects: entries(documented(entryForms.subjects)).describe('subject searches'),
    actions: entries(documented(entryForms.actions)).describe('action searches'),
    rows: entries(documented(entryForms.rows)).describe('rows of knowledge queries'),
    explanations: entries(documented(entryForms.explanations)),
    refused: entries(documented(entryForms.refused)).describe('conditions that must not compile'),
  })
  .meta({ id: 'Scenario' })
