// JSON Schemas of the arguments of the AuthZEN tools. They list the nested and the flat form of each argument and require
// neither, because several clients do not support alternatives at the root of a schema. The feature reports what is missing.
import type { ObjectSchema } from './tool.ts'

type SchemaProperties = ObjectSchema['properties']

const textSchema = (description: string): unknown => ({ type: 'string', description })
const properties = { type: 'object', description: 'additional attributes for the policy' }

const entitySchema = (who: string): unknown => ({
  type: 'object',
  description: `${who}; alternatively use the flat arguments`,
  properties: {
    type: textSchema('the node type, for example Person'),
    id: textSchema('the external id of the node'),
    properties,
  },
  required: ['type', 'id'],
})
const entityTypeSchema = (who: string): unknown => ({
  type: 'object',
  description: `${who}; alternatively use the flat argument`,
  properties: { type: textSchema('the node type, for example Document'), properties },
  required: ['type'],
})

/** The subject of an evaluation. */
export const subject: SchemaProperties = {
  subject: entitySchema('the subject that wants to act'),
  subject_type: textSchema('flat form of subject.type'),
  subject_id: textSchema('flat form of subject.id'),
}
/** The subject type of a search. */
export const searchedSubject: SchemaProperties = {
  subject: entityTypeSchema('the type of the subjects to search for'),
  subject_type: textSchema('flat form of subject.type'),
}
/** The action. */
export const action: SchemaProperties = {
  action: {
    type: 'object',
    description: 'the action; alternatively use action_name',
    properties: { name: textSchema('the name of the action, for example read'), properties },
    required: ['name'],
  },
  action_name: textSchema('flat form of action.name'),
}
/** The resource of an evaluation. */
export const resource: SchemaProperties = {
  resource: entitySchema('the resource to act on'),
  resource_type: textSchema('flat form of resource.type'),
  resource_id: textSchema('flat form of resource.id'),
}
/** The resource type of a search. */
export const searchedResource: SchemaProperties = {
  resource: entityTypeSchema('the type of the resources to search for'),
  resource_type: textSchema('flat form of resource.type'),
}
/** The context. */
export const context: SchemaProperties = {
  context: {
    type: 'object',
    description: 'additional input of the policies',
    properties: {
      input_params: { type: 'object', description: 'parameters by name; an error names missing ones' },
      policy_tags: { type: 'array', items: { type: 'string' }, description: 'only policies with one of these tags' },
      policy_status: { type: 'string', enum: ['ACTIVE', 'DRAFT'], description: 'DRAFT: drafts decide too' },
      model_revision: {
        type: 'integer',
        minimum: 0,
        description: 'the revision of the model that you expect; 0: the answer names it',
      },
    },
  },
}
/** The page of a search. */
export const page: SchemaProperties = {
  page: {
    type: 'object',
    description: 'the page to return: the next_token of the previous result',
    properties: { token: { type: 'string' }, limit: { type: 'integer', minimum: 0 } },
  },
}

/** The input schema of a tool with these arguments. */
export function inputSchema(...groups: readonly SchemaProperties[]): ObjectSchema {
  return { type: 'object', properties: Object.assign({}, ...groups) as SchemaProperties, additionalProperties: false }
}
