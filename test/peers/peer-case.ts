// A case of a peer's suite: a model, relationships, and questions with their answers.
import type { RelationModel, RelationTuple } from '../../src/migration/relation-model.ts'

/** A model with its relationships. */
export interface PeerCase {
  readonly id: string
  /** The text of the model in the language of the peer. */
  readonly text: string
  readonly model: RelationModel
  readonly tuples: readonly RelationTuple[]
  readonly questions: readonly PeerQuestion[]
}

/** Objects of a type, or the usersets of one of its relations. */
export interface PeerSubjectForm {
  readonly type: string
  readonly relation: string | null
}

interface AnyQuestion {
  readonly id: string
  readonly relation: string
  readonly context: Readonly<Record<string, unknown>>
  /** Relationships of this question only. */
  readonly contextual: readonly RelationTuple[]
}

/** A question, with the answer of the peer. */
export type PeerQuestion =
  | (AnyQuestion & {
      readonly kind: 'check'
      readonly subject: RelationTuple['subject']
      readonly object: RelationTuple['object']
      /** `error`: the peer answers an error. `unknown`: its answer depends on a value that is not given. */
      readonly expected: boolean | 'error' | 'unknown'
    })
  | (AnyQuestion & {
      readonly kind: 'objects'
      readonly subject: RelationTuple['subject']
      readonly type: string
      readonly expected: readonly string[] | 'error'
    })
  | (AnyQuestion & {
      readonly kind: 'subjects'
      readonly form: PeerSubjectForm
      readonly object: RelationTuple['object']
      readonly expected: ExpectedSubjects | 'error'
    })

/** The subjects that a peer lists. With `*` all of the type belong, apart from exceptions. */
export interface ExpectedSubjects {
  readonly ids: readonly string[]
  /** Null: the peer lists no exceptions. */
  readonly exceptions: readonly string[]
  /** Subjects that belong if a value that is not given has the right value: they may be missing. */
  readonly unknown: readonly string[]
}
