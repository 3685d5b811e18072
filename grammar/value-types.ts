// The types of values that a text can name, and the normal forms of Unicode: words that the engine's values share with the
// language.

/** The name of a type of values, in the normal form of Neo4j. */
export type ValueTypeName =
  | 'NOTHING'
  | 'NULL'
  | 'BOOLEAN'
  | 'STRING'
  | 'INTEGER'
  | 'FLOAT'
  | 'DATE'
  | 'LOCAL TIME'
  | 'ZONED TIME'
  | 'LOCAL DATETIME'
  | 'ZONED DATETIME'
  | 'DURATION'
  | 'POINT'
  | 'NODE'
  | 'RELATIONSHIP'
  | 'MAP'
  | 'LIST'
  | 'PATH'
  | 'PROPERTY VALUE'
  | 'ANY'
/** One type of values. `items` are the types of the items of a `LIST`, and null for any other type. */
export interface ValueType {
  readonly name: ValueTypeName
  readonly items: readonly ValueType[] | null
  /** False after `NOT NULL` or `!`. */
  readonly nullable: boolean
}
/** A Unicode normal form. */
export type NormalForm = 'NFC' | 'NFD' | 'NFKC' | 'NFKD'

const normalForms: ReadonlySet<string> = new Set<NormalForm>(['NFC', 'NFD', 'NFKC', 'NFKD'])

/** The normal form with that name, in any case; null if none has it. */
export function asNormalForm(word: string): NormalForm | null {
  const form = word.toUpperCase()
  return normalForms.has(form) ? (form as NormalForm) : null
}
