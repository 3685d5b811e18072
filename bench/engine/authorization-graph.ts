// The graphs of the bench `engine` as arrays, and the right answers, computed from the arrays alone. People are members
// of groups, groups form a hierarchy and may view folders, folders contain documents.
import { randomFrom } from '../harness.ts'

export interface GraphSizes {
  readonly users: number
  readonly groups: number
  readonly folders: number
  readonly documents: number
}

export const sizes = (small: boolean): GraphSizes =>
  small
    ? { users: 2_000, groups: 200, folders: 500, documents: 5_000 }
    : { users: 20_000, groups: 2_000, folders: 5_000, documents: 50_000 }

const GROUPS_PER_USER = 5
const FOLDERS_PER_GROUP = 10
/** Parent groups from which a member inherits. */
export const PARENTS_MAX = 3

/** People with many rights: each has ten groups with a hundred folders of ten documents, shared with no one else. */
const WIDE_USERS = 4
const WIDE_GROUPS = 10
const WIDE_FOLDERS = 100
const WIDE_DOCUMENTS = 10

/** Accounts that know each other, in circles that are not connected. */
const CIRCLES = 4
const ACCOUNTS_PER_CIRCLE = 250
const KNOWS_PER_ACCOUNT = 10
export const KNOWS_MAX = 8

export const KINDS = ['letter', 'invoice', 'contract', 'note', 'plan']

export type Type = 'User' | 'Group' | 'Folder' | 'Document' | 'Account'
export type RelationshipType = 'MEMBER_OF' | 'CHILD_OF' | 'CAN_VIEW' | 'IN' | 'OWNS' | 'KNOWS'

/** The node types at the ends of a relationship type. */
export const ends: Readonly<Record<RelationshipType, readonly [Type, Type]>> = {
  MEMBER_OF: ['User', 'Group'],
  CHILD_OF: ['Group', 'Group'],
  CAN_VIEW: ['Group', 'Folder'],
  IN: ['Document', 'Folder'],
  OWNS: ['User', 'Document'],
  KNOWS: ['Account', 'Account'],
}

/** Nodes of a type are numbered from 0; a relationship is two such numbers. */
export interface AuthorizationGraph {
  readonly counts: Readonly<Record<Type, number>>
  readonly relationships: Readonly<Record<RelationshipType, readonly (readonly [number, number])[]>>
  /** The first of the people with many rights. */
  readonly firstWideUser: number
}

export const idOf = (type: Type, at: number): string => `${type.toLowerCase()}-${at}`
export const levelOf = (at: number): number => (at * 7) % 13
export const kindOf = (document: number): string => KINDS[document % KINDS.length] as string
export const sizeOf = (document: number): number => (document * 37) % 1_000

export function authorizationGraph(of: GraphSizes, seed: number): AuthorizationGraph {
  const random = randomFrom(seed)
  const member: [number, number][] = []
  const child: [number, number][] = []
  const view: [number, number][] = []
  const lies: [number, number][] = []
  const owns: [number, number][] = []
  const knows: [number, number][] = []
  for (let user = 0; user < of.users; user++) {
    for (const group of distinct(GROUPS_PER_USER, of.groups, random)) member.push([user, group])
  }
  for (let group = 0; group < of.groups; group++) {
    if (group > 0) child.push([group, random(group)])
    for (const folder of distinct(FOLDERS_PER_GROUP, of.folders, random)) view.push([group, folder])
  }
  for (let document = 0; document < of.documents; document++) {
    lies.push([document, random(of.folders)])
    owns.push([random(of.users), document])
  }
  const wideGroups = WIDE_USERS * WIDE_GROUPS
  for (let at = 0; at < wideGroups; at++) {
    member.push([of.users + Math.floor(at / WIDE_GROUPS), of.groups + at])
    for (let next = 0; next < WIDE_FOLDERS; next++) view.push([of.groups + at, of.folders + at * WIDE_FOLDERS + next])
  }
  for (let at = 0; at < wideGroups * WIDE_FOLDERS * WIDE_DOCUMENTS; at++) {
    lies.push([of.documents + at, of.folders + Math.floor(at / WIDE_DOCUMENTS)])
  }
  for (let account = 0; account < CIRCLES * ACCOUNTS_PER_CIRCLE; account++) {
    const first = Math.floor(account / ACCOUNTS_PER_CIRCLE) * ACCOUNTS_PER_CIRCLE
    for (const other of distinct(KNOWS_PER_ACCOUNT, ACCOUNTS_PER_CIRCLE, random)) knows.push([account, first + other])
  }
  return {
    counts: {
      User: of.users + WIDE_USERS,
      Group: of.groups + wideGroups,
      Folder: of.folders + wideGroups * WIDE_FOLDERS,
      Document: of.documents + wideGroups * WIDE_FOLDERS * WIDE_DOCUMENTS,
      Account: CIRCLES * ACCOUNTS_PER_CIRCLE,
    },
    relationships: { MEMBER_OF: member, CHILD_OF: child, CAN_VIEW: view, IN: lies, OWNS: owns, KNOWS: knows },
    firstWideUser: of.users,
  }
}

function distinct(count: number, below: number, random: (below: number) => number): Set<number> {
  const found = new Set<number>()
  while (found.size < count) found.add(random(below))
  return found
}

/** A question: one or two external ids, and the right answer as text. */
export interface BenchQuestion {
  readonly first: string
  readonly second: string
  readonly answer: string
}

export type QuestionName =
  | 'node_by_id'
  | 'owns'
  | 'can_view'
  | 'can_view_with_parents'
  | 'folders_of_user'
  | 'knows_1_to_8'
  | 'search_10000'
  | 'aggregate_10000'

/** `count` questions of each kind; of the checks, half are granted. */
export function questionsAbout(
  graph: AuthorizationGraph,
  of: GraphSizes,
  count: number,
  seed: number,
): Readonly<Record<QuestionName, readonly BenchQuestion[]>> {
  const random = randomFrom(seed + 1)
  const { relationships, firstWideUser } = graph
  const groupsOf = index(relationships.MEMBER_OF, graph.counts.User)
  const parentsOf = index(relationships.CHILD_OF, graph.counts.Group)
  const foldersOf = index(relationships.CAN_VIEW, graph.counts.Group)
  const documentsIn = index(relationships.IN.map(flip), graph.counts.Folder)
  const ownedBy = index(relationships.OWNS, graph.counts.User)
  const knownBy = index(relationships.KNOWS, graph.counts.Account)

  const foldersFor = (user: number): number[] => through(groupsOf[user]!, foldersOf)
  const above = (user: number): number[] => {
    let found = [...groupsOf[user]!]
    for (let up = 0; up < PARENTS_MAX; up++) found = [...new Set([...found, ...through(found, parentsOf)])]
    return found
  }
  /** Half of them with a right end for the start, half with a wrong one. */
  const checks = (
    starts: number,
    endCount: number,
    type: readonly [Type, Type],
    right: (start: number) => number[],
  ): BenchQuestion[] => {
    const made: BenchQuestion[] = []
    while (made.length < count) {
      const start = random(starts)
      const ends = right(start)
      const granted = made.length % 2 === 0
      if (granted && ends.length === 0) continue
      const end = granted ? ends[random(ends.length)]! : random(endCount)
      if (!granted && ends.includes(end)) continue
      // Engines differ on paths back to the start.
      if (type[0] === type[1] && start === end) continue
      made.push({ first: idOf(type[0], start), second: idOf(type[1], end), answer: String(granted) })
    }
    // In random order, so that no branch predictor learns the sequence of answers.
    for (let at = made.length - 1; at > 0; at--) {
      const other = random(at + 1)
      ;[made[at], made[other]] = [made[other]!, made[at]!]
    }
    return made
  }
  const times = (ask: (at: number) => BenchQuestion): BenchQuestion[] =>
    Array.from({ length: count }, (_, at) => ask(at))
  const wide = Array.from({ length: graph.counts.User - firstWideUser }, (_, at) => {
    const documents = through(foldersFor(firstWideUser + at), documentsIn)
    const byKind = KINDS.map((kind) => {
      const sizes = documents.filter((document) => kindOf(document) === kind).map(sizeOf)
      return `${kind} ${sizes.length} ${sizes.reduce((sum, size) => sum + size, 0)}`
    })
    return {
      first: idOf('User', firstWideUser + at),
      documents: sortedText(documents.map((document) => idOf('Document', document))),
      byKind: sortedText(byKind),
    }
  })
  return {
    node_by_id: times(() => {
      const user = random(of.users)
      return { first: idOf('User', user), second: '', answer: String(levelOf(user)) }
    }),
    owns: checks(of.users, of.documents, ['User', 'Document'], (user) => ownedBy[user]!),
    can_view: checks(of.users, of.documents, ['User', 'Document'], (user) => through(foldersFor(user), documentsIn)),
    can_view_with_parents: checks(of.users, of.documents, ['User', 'Document'], (user) =>
      through(through(above(user), foldersOf), documentsIn),
    ),
    folders_of_user: times(() => {
      const user = random(of.users)
      const answer = sortedText(foldersFor(user).map((folder) => idOf('Folder', folder)))
      return { first: idOf('User', user), second: '', answer }
    }),
    knows_1_to_8: checks(graph.counts.Account, graph.counts.Account, ['Account', 'Account'], (account) => {
      let reached: number[] = [account]
      const found = new Set<number>()
      for (let step = 0; step < KNOWS_MAX; step++) {
        reached = through(reached, knownBy).filter((next) => !found.has(next))
        for (const next of reached) found.add(next)
      }
      return [...found]
    }),
    search_10000: times((at) => {
      const { first, documents } = wide[at % wide.length]!
      return { first, second: '', answer: documents }
    }),
    aggregate_10000: times((at) => {
      const { first, byKind } = wide[at % wide.length]!
      return { first, second: '', answer: byKind }
    }),
  }
}

/** Answers of several items have no order. */
export const sortedText = (items: readonly string[]): string => items.toSorted().join()

const flip = ([from, to]: readonly [number, number]): readonly [number, number] => [to, from]

/** By the first number, the second numbers. */
export function index(pairs: readonly (readonly [number, number])[], size: number): number[][] {
  const lists: number[][] = Array.from({ length: size }, () => [])
  for (const [from, to] of pairs) lists[from]!.push(to)
  return lists
}

/** The distinct ends of one more step. */
export function through(starts: readonly number[], step: readonly (readonly number[])[]): number[] {
  const found = new Set<number>()
  for (const start of starts) for (const end of step[start]!) found.add(end)
  return [...found]
}
