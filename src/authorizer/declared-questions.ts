// The types of `may`, `resources`, `toAllow` and `toDeny`: with the file of `verdigraph model types`, a misspelt type, action or parameter
// does not compile. Without it, every name does.
import { writeJson } from '../kernel/json/json.ts'
import type { HttpSchemas } from '../openapi/types.ts'

type WholeEntity = HttpSchemas['Subject']

declare global {
  /** The names of a project. `verdigraph model types` writes a file that adds `questions`. */
  interface VerdigraphProject {}
}

/**
 * A subject or a resource in a test: `'Person:ann'`, `{ Person: 'ann' }`, or with its members.
 *
 * @example
 * const ann: TestedEntity = { Person: 'ann' }
 */
export type TestedEntity = string | Readonly<Record<string, string>> | WholeEntity

/** Values of the parameters of policies, by name without `$`. */
export type TestedParameters = Readonly<Record<string, unknown>>

/** What policies decide: an action of a type of subjects on a type of resources, with the parameters that the policies read. */
interface UndeclaredQuestion {
  readonly subject: string
  readonly action: string
  readonly resource: string
  readonly parameters: TestedParameters
}

/** The questions of the project; any if no file declares them. */
type DeclaredQuestion = VerdigraphProject extends { readonly questions: infer Declared extends UndeclaredQuestion }
  ? Declared
  : UndeclaredQuestion

/** An entity of a type. */
type EntityOf<Type extends string> = string extends Type
  ? TestedEntity
  : Type extends string
    ? `${Type}:${string}` | { readonly [Name in Type]: string } | (WholeEntity & { readonly type: Type })
    : never

/** The arguments of a question about two entities. */
export type QuestionArguments<Question = DeclaredQuestion> = Question extends UndeclaredQuestion
  ? [
      subject: EntityOf<Question['subject']>,
      action: Question['action'],
      resource: EntityOf<Question['resource']>,
      parameters?: Question['parameters'],
    ]
  : never

/** The arguments of a search for the resources of a type. */
export type SearchArguments<Question = DeclaredQuestion> = Question extends UndeclaredQuestion
  ? [
      subject: EntityOf<Question['subject']>,
      action: Question['action'],
      type: Question['resource'],
      parameters?: Question['parameters'],
    ]
  : never

/** The entity of a question. Throws TypeError if it has none of the three forms. */
export function entityOf(given: TestedEntity): WholeEntity {
  if (typeof given === 'string') {
    const colon = given.indexOf(':')
    if (colon > 0) return { type: given.slice(0, colon), id: given.slice(colon + 1) }
  } else if (isWholeEntity(given)) return given
  else {
    const [entry, ...others] = Object.entries(given)
    if (entry !== undefined && others.length === 0) return { type: entry[0], id: entry[1] }
  }
  throw new TypeError(`expected 'Type:id', { Type: 'id' } or { type, id }, found ${writeJson(given)}`)
}

function isWholeEntity(given: object): given is WholeEntity {
  return 'type' in given && 'id' in given
}
