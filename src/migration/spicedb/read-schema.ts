// Reads a schema of SpiceDB: definitions with relations and permissions, and caveats.
import { readCondition } from '../condition-declaration.ts'
import type {
  RelationCondition,
  RelationExpression,
  RelationModel,
  SubjectForm,
  TypeRelations,
} from '../relation-model.ts'
import { TextScanner } from '../text-scanner.ts'

const NAME = /[A-Za-z_][\w/]*/y
const SKIPPED = /(?:[\s;]|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y

/** Reads a schema. Throws a MigrationError with the place. */
export function readSpiceDbSchema(text: string): RelationModel {
  return new SchemaText(text).read()
}

class SchemaText {
  private readonly scanner: TextScanner
  private readonly types = new Map<string, TypeRelations>()
  private readonly conditions = new Map<string, RelationCondition>()

  constructor(text: string) {
    this.scanner = new TextScanner(text, SKIPPED)
  }

  read(): RelationModel {
    const { scanner } = this
    while (!scanner.atEnd()) {
      if (scanner.acceptWord('use')) this.name('a feature')
      else if (scanner.acceptWord('caveat')) this.caveat()
      else if (scanner.acceptWord('definition')) this.definition()
      else scanner.fail('`definition` or `caveat`')
    }
    return { types: this.types, conditions: this.conditions }
  }

  private name(what: string): string {
    return this.scanner.require(NAME, `the name of ${what}`)
  }

  private caveat(): void {
    const condition = readCondition(this.scanner, { name: NAME, what: 'a caveat', hasColon: false })
    this.conditions.set(condition.name, condition)
  }

  private definition(): void {
    const type = this.name('a definition')
    const relations = new Map<string, RelationExpression>()
    this.types.set(type, relations)
    this.scanner.expect('{')
    while (!this.scanner.accept('}')) {
      if (this.scanner.acceptWord('relation')) {
        const name = this.name('a relation')
        this.scanner.expect(':')
        relations.set(name, this.direct())
      } else if (this.scanner.acceptWord('permission')) {
        const name = this.name('a permission')
        if (this.scanner.accept(':')) this.typeAnnotation()
        this.scanner.expect('=')
        relations.set(name, this.exclusion())
      } else this.scanner.fail('`relation` or `permission`')
    }
  }

  private typeAnnotation(): void {
    do this.name('a type')
    while (this.scanner.accept('|'))
  }

  private direct(): RelationExpression {
    const subjects: SubjectForm[] = []
    do {
      const type = this.name('a type')
      const wildcard = this.scanner.accept(':*')
      // `group#...` is the object itself.
      const isObject = !wildcard && this.scanner.accept('#...')
      const relation = !wildcard && !isObject && this.scanner.accept('#') ? this.name('a relation') : null
      let condition: string | null = null
      let expires = false
      if (this.scanner.acceptWord('with')) {
        do {
          const name = this.name('a caveat')
          if (name === 'expiration') expires = true
          else condition = name
        } while (this.scanner.acceptWord('and'))
      }
      subjects.push({ type, wildcard, relation, condition, expires })
    } while (this.scanner.accept('|'))
    return { kind: 'direct', subjects }
  }

  // From the loosest operator to the tightest: `-`, `&`, `+`.
  private exclusion(): RelationExpression {
    let base = this.several('&', 'all', () => this.several('+', 'any', () => this.operand()))
    while (this.scanner.accept('-')) {
      base = {
        kind: 'except',
        base,
        minus: this.several('&', 'all', () => this.several('+', 'any', () => this.operand())),
      }
    }
    return base
  }

  private several(symbol: string, kind: 'any' | 'all', part: () => RelationExpression): RelationExpression {
    const of = [part()]
    while (this.scanner.accept(symbol)) of.push(part())
    return of.length === 1 ? of[0]! : { kind, of }
  }

  private operand(): RelationExpression {
    if (this.scanner.accept('(')) {
      const inner = this.exclusion()
      this.scanner.expect(')')
      return inner
    }
    const name = this.name('a relation')
    if (name === 'nil') return { kind: 'none' }
    if (name === 'self') return { kind: 'self' }
    if (this.scanner.accept('->'))
      return { kind: 'arrow', through: name, name: this.name('a permission'), every: false }
    if (!this.scanner.accept('.')) return { kind: 'relation', name }
    const every = this.scanner.acceptWord('all')
    if (!every && !this.scanner.acceptWord('any')) this.scanner.fail('`any` or `all`')
    this.scanner.expect('(')
    const permission = this.name('a permission')
    this.scanner.expect(')')
    return { kind: 'arrow', through: name, name: permission, every }
  }
}
