// The schemas of the AuthZEN tools' arguments, which are none of HTTP: both forms of each stand side by side and none is
// `required`, since several clients take no alternatives at the root of a schema. What is missing is told by the service, by name.
import type { ObjectSchema } from './tool.ts'

type SchemaProperties = ObjectSchema['properties']

const textSchema = (description: string): unknown => ({ type: 'string', description })
const properties = { type: 'object', description: 'further facts for the policy' }

const entitySchema = (who: string): unknown => ({
  type: 'object',
  description: `${who}; or give its members flat`,
  properties: {
    type: textSchema('the node type, for example Person'),
    id: textSchema('the external id of the node'),
    properties,
  },
  required: ['type', 'id'],
})
const entityTypeSchema = (who: string): unknown => ({
  type: 'object',
  description: `${who}; or give the type flat`,
  properties: { type: textSchema('the node type, for example Document'), properties },
  required: ['type'],
})

export const subject: SchemaProperties = {
  subject: entitySchema('who asks to act'),
  subject_type: textSchema('flat form of subject.type'),
  subject_id: textSchema('flat form of subject.id'),
}
export const searchedSubject: SchemaProperties = {
  subject: entityTypeSchema('the type of the subjects that are sought'),
  subject_type: textSchema('flat form of subject.type'),
}
export const action: SchemaProperties = {
  action: {
    type: 'object',
    description: 'what is to be done; or give action_name',
    properties: { name: textSchema('the name of the action, for example read'), properties },
    required: ['name'],
  },
  action_name: textSchema('flat form of action.name'),
}
export const resource: SchemaProperties = {
  resource: entitySchema('what is acted upon'),
  resource_type: textSchema('flat form of resource.type'),
  resource_id: textSchema('flat form of resource.id'),
}
export const searchedResource: SchemaProperties = {
  resource: entityTypeSchema('the type of the resources that are sought'),
  resource_type: textSchema('flat form of resource.type'),
}
export const context: SchemaProperties = {
  context: {
    type: 'object',
    description: 'what the policies need beside the question',
    properties: {
      input_params: { type: 'object', description: 'values by the names that an error has asked for' },
      policy_tags: { type: 'array', items: { type: 'string' }, description: 'only policies with one of these tags' },
    },
  },
}
export const page: SchemaProperties = {
  page: {
    type: 'object',
    description: 'for the next page: the next_token of the answer before',
    properties: { token: { type: 'string' }, limit: { type: 'integer', minimum: 0 } },
  },
}

export function inputSchema(...parts: readonly SchemaProperties[]): ObjectSchema {
  return { type: 'object', properties: Object.assign({}, ...parts) as SchemaProperties, additionalProperties: false }
}
