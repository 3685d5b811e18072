// The JSON representation of a stored document in responses: the envelope, the fields without secrets, and the members
// that the kind computes.
import type { Authorship, ConfigKind, ConfigReader, DocumentFields, StoredDocument } from './kind.ts'
import { publicFields } from './secrets.ts'

/** The body of a read response. */
export function representationOf(document: StoredDocument, kind: ConfigKind, reader: ConfigReader): DocumentFields {
  const named = document.name !== ''
  const open = { ...document, fields: publicFields(document.fields, kind) }
  const { display_name, description, ...own } = open.fields
  const fields = Object.fromEntries(Object.entries(own).filter(([name]) => !kind.hiddenFields.includes(name)))
  return {
    id: document.id,
    ...(named && { name: document.name }),
    // An unset display_name reads as `name`.
    display_name: display_name ?? document.name,
    ...(named && { description: description ?? '' }),
    organization_id: document.organization_id,
    ...(document.project_id !== '' && { project_id: document.project_id }),
    ...kind.defaults,
    ...fields,
    ...kind.computedFields?.(open, reader),
    create_time: document.create_time,
    created_by: document.created_by,
    ...(kind.operations.update && { update_time: document.update_time, updated_by: document.updated_by }),
  }
}

/** One item of a list response. Unless `full` is true, the members in `omittedInLists` are empty strings. */
export function listItemOf(
  document: StoredDocument,
  kind: ConfigKind,
  reader: ConfigReader,
  full: boolean,
): DocumentFields {
  const form = representationOf(document, kind, reader)
  return full ? form : { ...form, ...Object.fromEntries(kind.omittedInLists.map((field) => [field, ''])) }
}

/** The five authorship members that create and update return. */
export function authorshipOf(document: StoredDocument): Authorship & DocumentFields {
  return {
    id: document.id,
    create_time: document.create_time,
    created_by: document.created_by,
    update_time: document.update_time,
    updated_by: document.updated_by,
  }
}
