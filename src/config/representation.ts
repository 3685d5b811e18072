// How a stored document reads back: its envelope, its fields without secrets, and what its kind adds.
import type { Authorship, ConfigKind, ConfigReader, DocumentFields, StoredDocument } from './kind.ts'
import { publicFields } from './secrets.ts'

export function representationOf(document: StoredDocument, kind: ConfigKind, reader: ConfigReader): DocumentFields {
  const named = document.name !== ''
  const open = { ...document, fields: publicFields(document.fields, kind) }
  const { display_name, description, ...own } = open.fields
  const fields = Object.fromEntries(Object.entries(own).filter(([name]) => kind.hiddenFields?.includes(name) !== true))
  return {
    id: document.id,
    ...(named && { name: document.name }),
    // Facts 1.7.2: reads back as `name` when unset.
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

/** The item of a list: without `full_fetch` the heavy fields come back empty (facts 1.7.1). */
export function listItemOf(
  document: StoredDocument,
  kind: ConfigKind,
  reader: ConfigReader,
  full: boolean,
): DocumentFields {
  const form = representationOf(document, kind, reader)
  return full ? form : { ...form, ...Object.fromEntries(kind.omittedInLists.map((field) => [field, ''])) }
}

export function authorshipOf(document: StoredDocument): Authorship & DocumentFields {
  return {
    id: document.id,
    create_time: document.create_time,
    created_by: document.created_by,
    update_time: document.update_time,
    updated_by: document.updated_by,
  }
}
