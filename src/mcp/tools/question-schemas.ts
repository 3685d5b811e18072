// The schemas of the AuthZEN tools' arguments, which are none of HTTP: both forms of each stand side by side and none is
// `required`, since several clients take no alternatives at the root of a schema. What is missing is told by the service, by name.
import type { JsonSchema } from './tool.ts'

type Properties = JsonSchema['properties']

const text = (description: string): unknown => ({ type: 'string', description })
const properties = { type: 'object', description: 'further facts for the policy' }

const entity = (who: string): unknown => ({
  type: 'object',
  description: `${who}; or give its members flat`,
  properties: { type: text('the node type, for example Person'), id: text('the external id of the node'), properties },
  required: ['type', 'id'],
})
const entityType = (who: string): unknown => ({
  type: 'object',
  description: `${who}; or give the type flat`,
  properties: { type: text('the node type, for example Document'), properties },
  required: ['type'],
})

export const subject: Properties = {
  subject: entity('who asks to act'),
  subject_type: text('flat form of subject.type'),
  subject_id: text('flat form of subject.id'),
}
export const subjectSought: Properties = {
  subject: entityType('the type of the subjects that are sought'),
  subject_type: text('flat form of subject.type'),
}
export const action: Properties = {
  action: {
    type: 'object',
    description: 'what is to be done; or give action_name',
    properties: { name: text('the name of the action, for example read'), properties },
    required: ['name'],
  },
  action_name: text('flat form of action.name'),
}
export const resource: Properties = {
  resource: entity('what is acted upon'),
  resource_type: text('flat form of resource.type'),
  resource_id: text('flat form of resource.id'),
}
export const resourceSought: Properties = {
  resource: entityType('the type of the resources that are sought'),
  resource_type: text('flat form of resource.type'),
}
export const context: Properties = {
  context: {
    type: 'object',
    description: 'what the policies need beside the question',
    properties: {
      input_params: { type: 'object', description: 'values by the names that an error has asked for' },
      policy_tags: { type: 'array', items: { type: 'string' }, description: 'only policies with one of these tags' },
    },
  },
}
export const page: Properties = {
  page: {
    type: 'object',
    description: 'for the next page: the next_token of the answer before',
    properties: { token: { type: 'string' }, limit: { type: 'integer', minimum: 0 } },
  },
}

export function input(...parts: readonly Properties[]): JsonSchema {
  return { type: 'object', properties: Object.assign({}, ...parts) as Properties, additionalProperties: false }
}
