// Reads the declaration of a condition of OpenFGA, or of a caveat of SpiceDB: `name(parameter type, …) { expression in CEL }`.
import type { ConditionType, RelationCondition } from './relation-model.ts'
import type { TextScanner } from './text-scanner.ts'

/** What differs between the languages. */
interface ConditionSyntax {
  /** Of names; a sticky expression. */
  readonly name: RegExp
  /** For messages, such as `a caveat`. */
  readonly what: string
  /** Whether `:` stands between a parameter and its type. */
  readonly hasColon: boolean
}

/** Reads the declaration after its keyword. Throws MigrationError. */
export function readCondition(scanner: TextScanner, { name, what, hasColon }: ConditionSyntax): RelationCondition {
  const nameOf = (named: string): string => scanner.require(name, `the name of ${named}`)
  const type = (): ConditionType => {
    const own = nameOf('a type')
    if (!scanner.accept('<')) return own
    const inner = type()
    scanner.expect('>')
    return own === 'map' ? { map: inner } : { list: inner }
  }
  const condition = nameOf(what)
  const parameters = new Map<string, ConditionType>()
  scanner.expect('(')
  while (!scanner.accept(')')) {
    const parameter = nameOf('a parameter')
    if (hasColon) scanner.expect(':')
    parameters.set(parameter, type())
    scanner.accept(',')
  }
  scanner.expect('{')
  return { name: condition, parameters, expression: scanner.untilClosingBrace() }
}
