// A scenario that was read: a graph, policies over it, and the expected answers, each with its place in the file.
import type { AuthorizerToken, RequestEntity, WriteInput } from '../authorizer/authorizer.ts'
import type { Intention } from '../authorizer/intended-issues.ts'
import type { FilePosition } from '../project/file-diagnostic.ts'
import type { FolderDocument, ProjectFolder } from '../project/project-folder.ts'
import type { NotationGraph } from './graph-notation.ts'

/** The common members of expected answers. */
interface ScenarioEntry {
  /** Of the entry in the file. */
  readonly position: FilePosition
}

/** A request of a scenario. */
export interface ScenarioCall extends ScenarioEntry {
  /** Numbers are exact: a FLOAT is boxed. */
  readonly params: Readonly<Record<string, unknown>>
  /** Null: all policies are evaluated. */
  readonly tags: readonly string[] | null
  /** Undefined: absent. Null: absent on purpose. */
  readonly token: AuthorizerToken | null | undefined
}

/** A request with several answers. */
interface ListedAnswers extends ScenarioCall {
  /** Why there is no answer; null: the listed ones are expected, which may be none. */
  readonly because: Intention | null
}

/** An expected decision. */
export interface DecisionEntry extends ScenarioCall {
  readonly subject: RequestEntity
  readonly action: string
  readonly resource: RequestEntity
  readonly expect: 'yes' | 'no' | Intention
}

/** The expected results of a resource search. */
interface ResourceEntry extends ListedAnswers {
  readonly subject: RequestEntity
  readonly action: string
  readonly type: string
  /** Sorted. */
  readonly ids: readonly string[]
}

/** The expected results of a subject search. */
interface SubjectEntry extends ListedAnswers {
  readonly type: string
  readonly action: string
  readonly resource: RequestEntity
  /** Sorted. */
  readonly ids: readonly string[]
}

/** The expected results of an action search. */
interface ActionEntry extends ListedAnswers {
  readonly subject: RequestEntity
  readonly resource: RequestEntity
  /** Sorted. */
  readonly actions: readonly string[]
}

/** The expected rows of a knowledge query, as values by requested path. */
export interface RowsEntry extends Omit<ListedAnswers, 'tags'> {
  readonly query: string
  readonly rows: readonly Readonly<Record<string, unknown>>[]
}

/** Expected parts of an explanation; null: not compared. */
interface ExplanationEntry extends ScenarioCall {
  readonly subject: RequestEntity
  readonly action: string
  readonly resource: RequestEntity
  readonly outcomes: Readonly<Record<string, string>> | null
  readonly reached: string | null
  readonly stopped: string | null
}

/** A condition that must not compile. */
export interface RefusedEntry extends ScenarioEntry {
  readonly cypher: string
  readonly version: string
  readonly subject: string
  readonly resource: string
  readonly messageContains: string
}

/** A scenario file. */
export interface ScenarioFile {
  /** The name of the file without its ending. */
  readonly name: string
  /** The path as it was given. */
  readonly file: string
  readonly description: string
  /** The items of the graph. */
  readonly items: WriteInput
  /** Of the member `graph`. */
  readonly graphPosition: FilePosition
  /** The graph in arrow notation; null: it is given as items. */
  readonly notation: NotationGraph | null
  /** The policies, queries and resolvers: of the project, and then of the file itself. */
  readonly project: ProjectFolder
  /** The policies and queries of the file itself. */
  readonly ownDocuments: readonly FolderDocument[]
  readonly decisions: readonly DecisionEntry[]
  readonly resources: readonly ResourceEntry[]
  readonly subjects: readonly SubjectEntry[]
  readonly actions: readonly ActionEntry[]
  readonly rows: readonly RowsEntry[]
  readonly explanations: readonly ExplanationEntry[]
  readonly refused: readonly RefusedEntry[]
}
