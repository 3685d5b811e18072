// Reads the stored documents of a project in the terms of a project folder.
import type { ProjectDocuments, ReadableDocument } from '../config/project-documents.ts'
import type { CurrentDocument, CurrentProject } from './current-project.ts'
import { fileKindOf, fileKinds } from './other-file-kinds.ts'

/** Puts names in place of ids. `read`: the answer of the service, or of `readProjectDocuments`. */
export function currentProjectOf({ etag, project, documents, credentials }: ProjectDocuments): CurrentProject {
  const names = new Map(documents.map(({ id, name }) => [id, name]))
  const rank = ({ kind }: CurrentDocument): number => fileKinds.findIndex((one) => one.kind === kind)
  return {
    etag,
    project: currentDocument(project, names),
    documents: documents
      .map((document) => currentDocument(document, names))
      .sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1)),
    credentials,
  }
}

/** A member with the id of a document that was deleted is left out. */
function currentDocument(
  { kind, id, name, body, secrets }: ReadableDocument,
  names: ReadonlyMap<string, string>,
): CurrentDocument {
  const naming = fileKindOf(kind)?.references ?? []
  const ids = new Set([...naming.map(({ bodyMember }) => bodyMember), 'project_id', 'organization_id'])
  return {
    kind,
    id,
    name,
    body: Object.fromEntries(Object.entries(body).filter(([member]) => !ids.has(member))),
    references: naming.flatMap(({ bodyMember, kind: named }) => {
      const found = names.get(String(body[bodyMember]))
      return found === undefined ? [] : [{ member: bodyMember, kind: named, name: found }]
    }),
    secrets,
  }
}
