// The documents of a project as a whole: those with names, which people write. Credentials and service accounts are not among them.
import { createHash } from 'node:crypto'
import {
  applicationAgentsKind,
  type ConfigKind,
  type ConfigReader,
  type DocumentFields,
  projectsKind,
  type StoredDocument,
} from './kind.ts'
import { publicFields, secretFieldPaths } from './secrets.ts'

/** A document in a form from which a create request can be made. */
export interface ReadableDocument {
  readonly kind: string
  readonly id: string
  readonly name: string
  /** The body of a create request without the name, the scope and secrets. */
  readonly body: DocumentFields
  /** The paths of its secrets in the body; a list of secrets has one path. */
  readonly secrets: readonly (readonly string[])[]
}

/** All documents of a project with names, as of one commit. */
export interface ProjectDocuments {
  /** Differs between any two states of the documents. In quotes. */
  readonly etag: string
  readonly project: ReadableDocument
  /** By kind and name. */
  readonly documents: readonly ReadableDocument[]
  /** Number of credentials by the id of the agent that has them. */
  readonly credentials: Readonly<Record<string, number>>
}

/** The kinds of documents that a project has by name. */
export function namedKinds(kinds: readonly ConfigKind[]): readonly ConfigKind[] {
  return kinds.filter(({ inOrganization, isNamed }) => inOrganization !== true && isNamed)
}

/** The stored documents of a project with names, without the project itself, by kind and name. */
function storedDocuments(
  reader: ConfigReader,
  kinds: readonly ConfigKind[],
  projectId: string,
): readonly StoredDocument[] {
  return namedKinds(kinds).flatMap(({ path }) =>
    [...reader.inScope(path, projectId)].sort((a, b) => (a.name < b.name ? -1 : 1)),
  )
}

/** The ETag of a project and its documents with names. It changes with each revision, and not with the state of runs. */
export function projectEtag(reader: ConfigReader, kinds: readonly ConfigKind[], project: StoredDocument): string {
  const hash = createHash('sha256')
  for (const { id, revision } of [project, ...storedDocuments(reader, kinds, project.id)])
    hash.update(`${id} ${revision} `)
  return `"${hash.digest('base64url').slice(0, 27)}"`
}

/** Reads a project and its documents with names. */
export function readProjectDocuments(
  reader: ConfigReader,
  kinds: readonly ConfigKind[],
  project: StoredDocument,
): ProjectDocuments {
  const byPath = new Map(kinds.map((kind) => [kind.path, kind]))
  const readable = (document: StoredDocument): ReadableDocument =>
    readableDocument(document, byPath.get(document.kind) as ConfigKind)
  const belowAgents = kinds.filter(({ parent }) => parent.kind === applicationAgentsKind)
  const agents = reader.inScope(applicationAgentsKind, project.id)
  return {
    etag: projectEtag(reader, kinds, project),
    project: readable(project),
    documents: storedDocuments(reader, kinds, project.id).map(readable),
    credentials: Object.fromEntries(
      agents
        .map(({ id }) => [id, belowAgents.flatMap(({ path }) => reader.children(path, id)).length] as const)
        .filter(([, count]) => count > 0),
    ),
  }
}

function readableDocument({ kind, id, name, fields }: StoredDocument, declared: ConfigKind): ReadableDocument {
  const shown = Object.entries(publicFields(fields, declared)).filter(([member]) =>
    Object.hasOwn(declared.createSchema.shape, member),
  )
  return { kind, id, name, body: Object.fromEntries(shown), secrets: secretFieldPaths(fields, declared) }
}

/** Finds a project of an organization by its id or name; null: it does not exist. */
export function findProjectIn(reader: ConfigReader, organizationId: string, key: string): StoredDocument | null {
  const found = reader.get(projectsKind, key) ?? reader.getByName(projectsKind, organizationId, key)
  return found?.organization_id === organizationId ? found : null
}
