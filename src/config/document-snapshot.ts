// An immutable snapshot of all configuration documents with three indexes: by id, by name, and by kind, parent and
// scope.
import { Map as ImmutableMap, OrderedSet } from 'immutable'
import { type ConfigReader, type StoredDocument, scopeOf } from './kind.ts'

type DocumentIds = OrderedSet<string>

const noIds: DocumentIds = OrderedSet()

/** All configuration documents at one commit. Changes return a new snapshot that shares structure with the old one. */
export class DocumentSnapshot implements ConfigReader {
  private readonly byId: ImmutableMap<string, StoredDocument>
  private readonly byName: ImmutableMap<string, string>
  /** Ids by `kind`, by `kind parent …` and by `kind scope …`. */
  private readonly groups: ImmutableMap<string, DocumentIds>

  private constructor(
    byId: ImmutableMap<string, StoredDocument>,
    byName: ImmutableMap<string, string>,
    groups: ImmutableMap<string, DocumentIds>,
  ) {
    this.byId = byId
    this.byName = byName
    this.groups = groups
  }

  /** Builds a snapshot. Ids sort by creation time, so each group keeps the order of creation. */
  static of(documents: readonly StoredDocument[]): DocumentSnapshot {
    const empty = new DocumentSnapshot(ImmutableMap(), ImmutableMap(), ImmutableMap())
    return [...documents].sort((a, b) => (a.id < b.id ? -1 : 1)).reduce((all, one) => all.with(one), empty)
  }

  get(kind: string, id: string): StoredDocument | null {
    const document = this.byId.get(id)
    return document !== undefined && document.kind === kind ? document : null
  }

  /** Returns the document with this id, of any kind, or null. */
  find(id: string): StoredDocument | null {
    return this.byId.get(id) ?? null
  }

  /** The ids of all documents. */
  ids(): Iterable<string> {
    return this.byId.keys()
  }

  getByName(kind: string, scopeId: string, name: string): StoredDocument | null {
    const id = this.byName.get(nameKey(kind, scopeId, name))
    return id === undefined ? null : this.get(kind, id)
  }

  children(kind: string, parentId: string): readonly StoredDocument[] {
    return this.members(parentGroup(kind, parentId))
  }

  inScope(kind: string, scopeId: string): readonly StoredDocument[] {
    return this.members(scopeGroup(kind, scopeId))
  }

  all(kind: string): readonly StoredDocument[] {
    return this.members(kind)
  }

  /**
   * Returns a snapshot that contains `document`, which replaces the document with the same id, also of another kind. Freezes
   * `document`.
   */
  with(document: StoredDocument): DocumentSnapshot {
    const frozen = deepFreeze(document)
    const before = this.find(frozen.id)
    const leftGroups = before === null ? [] : groupsOf(before).filter((group) => !groupsOf(frozen).includes(group))
    return new DocumentSnapshot(
      this.byId.set(frozen.id, frozen),
      withName(before === null ? this.byName : withoutName(this.byName, before), frozen),
      groupsOf(frozen).reduce(
        (groups, group) => groups.update(group, noIds, (ids) => ids.add(frozen.id)),
        withoutMember(this.groups, leftGroups, frozen.id),
      ),
    )
  }

  /** Returns a snapshot without this document; the same snapshot if it does not exist. */
  without(kind: string, id: string): DocumentSnapshot {
    const document = this.get(kind, id)
    if (document === null) return this
    return new DocumentSnapshot(
      this.byId.remove(id),
      withoutName(this.byName, document),
      withoutMember(this.groups, groupsOf(document), id),
    )
  }

  private members(group: string): StoredDocument[] {
    const found: StoredDocument[] = []
    for (const id of this.groups.get(group, noIds)) found.push(this.byId.get(id) as StoredDocument)
    return found
  }
}

// A space cannot occur in a kind or an identifier.
const nameKey = (kind: string, scopeId: string, name: string): string => `${kind} ${scopeId} ${name}`
const parentGroup = (kind: string, parentId: string): string => `${kind} parent ${parentId}`
const scopeGroup = (kind: string, scopeId: string): string => `${kind} scope ${scopeId}`

function groupsOf(document: StoredDocument): string[] {
  return [document.kind, parentGroup(document.kind, document.parent_id), scopeGroup(document.kind, scopeOf(document))]
}

function withName(names: ImmutableMap<string, string>, document: StoredDocument): ImmutableMap<string, string> {
  if (document.name === '') return names
  return names.set(nameKey(document.kind, scopeOf(document), document.name), document.id)
}

function withoutName(names: ImmutableMap<string, string>, document: StoredDocument): ImmutableMap<string, string> {
  return names.remove(nameKey(document.kind, scopeOf(document), document.name))
}

function withoutMember(
  groups: ImmutableMap<string, DocumentIds>,
  from: readonly string[],
  id: string,
): ImmutableMap<string, DocumentIds> {
  return from.reduce((left, group) => {
    const ids = left.get(group, noIds).remove(id)
    return ids.size === 0 ? left.remove(group) : left.set(group, ids)
  }, groups)
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const member of Object.values(value)) deepFreeze(member)
  }
  return value
}
