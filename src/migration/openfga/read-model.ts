// Reads an authorization model of OpenFGA: its text form (schema 1.1 and 1.2, also in modules) and its JSON form.
import { readCondition } from '../condition-declaration.ts'
import type {
  ConditionType,
  RelationCondition,
  RelationExpression,
  RelationModel,
  SubjectForm,
  TypeRelations,
} from '../relation-model.ts'
import { TextScanner } from '../text-scanner.ts'

const NAME = /[A-Za-z0-9_][A-Za-z0-9_/-]*/y
const SKIPPED = /(?:\s|(?<=^|\s)#[^\n]*)*/y

/** Reads the text form. Several texts are the modules of one model. Throws a MigrationError with the place. */
export function readOpenFgaModel(...texts: readonly string[]): RelationModel {
  const types = new Map<string, Map<string, RelationExpression>>()
  const conditions = new Map<string, RelationCondition>()
  for (const text of texts) new OpenFgaText(text, types, conditions).read()
  return { types, conditions }
}

class OpenFgaText {
  private readonly scanner: TextScanner
  private readonly types: Map<string, Map<string, RelationExpression>>
  private readonly conditions: Map<string, RelationCondition>

  constructor(
    text: string,
    types: Map<string, Map<string, RelationExpression>>,
    conditions: Map<string, RelationCondition>,
  ) {
    // `#` begins a comment only after white space: `group#member` is a name.
    this.scanner = new TextScanner(text, SKIPPED)
    this.types = types
    this.conditions = conditions
  }

  read(): void {
    const { scanner } = this
    while (!scanner.atEnd()) {
      if (scanner.acceptWord('model')) {
        if (!scanner.acceptWord('schema')) scanner.fail('`schema`')
        scanner.require(/[\d.]+/y, 'a version of the schema')
      } else if (scanner.acceptWord('module')) this.name('a module')
      else if (scanner.acceptWord('condition')) this.condition()
      else {
        scanner.acceptWord('extend')
        if (!scanner.acceptWord('type')) scanner.fail('`type` or `condition`')
        this.type()
      }
    }
  }

  private name(what: string): string {
    return this.scanner.require(NAME, `the name of ${what}`)
  }

  private type(): void {
    const name = this.name('a type')
    const relations = this.types.get(name) ?? new Map<string, RelationExpression>()
    this.types.set(name, relations)
    if (!this.scanner.acceptWord('relations')) return
    while (this.scanner.acceptWord('define')) {
      const relation = this.name('a relation')
      this.scanner.expect(':')
      relations.set(relation, this.expression())
    }
  }

  private expression(): RelationExpression {
    const first = this.operand()
    if (this.scanner.acceptWord('but')) {
      if (!this.scanner.acceptWord('not')) this.scanner.fail('`not`')
      return { kind: 'except', base: first, minus: this.operand() }
    }
    for (const [word, kind] of [
      ['or', 'any'],
      ['and', 'all'],
    ] as const) {
      const of = [first]
      while (this.scanner.acceptWord(word)) of.push(this.operand())
      if (of.length > 1) return { kind, of }
    }
    return first
  }

  private operand(): RelationExpression {
    if (this.scanner.accept('(')) {
      const inner = this.expression()
      this.scanner.expect(')')
      return inner
    }
    if (this.scanner.accept('[')) return this.direct()
    const name = this.name('a relation')
    if (!this.scanner.acceptWord('from')) return { kind: 'relation', name }
    return { kind: 'arrow', through: this.name('a relation'), name, every: false }
  }

  private direct(): RelationExpression {
    const subjects: SubjectForm[] = []
    do {
      const type = this.name('a type')
      const wildcard = this.scanner.accept(':*')
      const relation = this.scanner.match(/#[A-Za-z0-9_][A-Za-z0-9_-]*/y)?.slice(1) ?? null
      // `$expression`: each relationship has an expression of its own.
      const isConditional = this.scanner.acceptWord('with')
      const condition = isConditional
        ? this.scanner.require(/\$?[A-Za-z0-9_][\w/-]*/y, 'the name of a condition')
        : null
      subjects.push({ type, wildcard, relation, condition, expires: false })
    } while (this.scanner.accept(','))
    this.scanner.expect(']')
    return { kind: 'direct', subjects }
  }

  private condition(): void {
    const condition = readCondition(this.scanner, { name: NAME, what: 'a condition', hasColon: true })
    this.conditions.set(condition.name, condition)
  }
}

/** The JSON form, as the API of OpenFGA answers it. Unknown members are ignored. */
interface OpenFgaJson {
  readonly type_definitions: readonly {
    readonly type: string
    readonly relations?: Readonly<Record<string, Userset>>
    readonly metadata?: {
      readonly relations?: Readonly<
        Record<string, { readonly directly_related_user_types?: readonly RelatedType[] } | undefined>
      >
    } | null
  }[]
  readonly conditions?: Readonly<Record<string, OpenFgaCondition>>
}

interface RelatedType {
  readonly type: string
  readonly relation?: string
  readonly wildcard?: unknown
  readonly condition?: string
}

interface Userset {
  readonly this?: unknown
  readonly computedUserset?: { readonly relation: string }
  readonly tupleToUserset?: {
    readonly tupleset: { readonly relation: string }
    readonly computedUserset: { readonly relation: string }
  }
  readonly union?: { readonly child: readonly Userset[] }
  readonly intersection?: { readonly child: readonly Userset[] }
  readonly difference?: { readonly base: Userset; readonly subtract: Userset }
}

interface OpenFgaCondition {
  readonly expression: string
  readonly parameters?: Readonly<Record<string, OpenFgaType>>
}

interface OpenFgaType {
  readonly type_name: string
  readonly generic_types?: readonly OpenFgaType[]
}

/** Reads the JSON form. */
export function readOpenFgaJson(model: OpenFgaJson): RelationModel {
  const types = new Map<string, TypeRelations>()
  for (const { type, relations = {}, metadata } of model.type_definitions) {
    const read = Object.entries(relations).map(([name, userset]): [string, RelationExpression] => {
      const related = metadata?.relations?.[name]?.directly_related_user_types ?? []
      return [name, fromUserset(userset, related.map(fromRelatedType))]
    })
    types.set(type, new Map(read))
  }
  const conditions = Object.entries(model.conditions ?? {}).map(([name, condition]): [string, RelationCondition] => {
    const parameters = Object.entries(condition.parameters ?? {}).map(([parameter, type]): [string, ConditionType] => [
      parameter,
      fromJsonType(type),
    ])
    return [name, { name, parameters: new Map(parameters), expression: condition.expression }]
  })
  return { types, conditions: new Map(conditions) }
}

function fromRelatedType({ type, relation, wildcard, condition }: RelatedType): SubjectForm {
  const isWildcard = wildcard !== undefined
  return { type, relation: relation || null, wildcard: isWildcard, condition: condition || null, expires: false }
}

function fromUserset(userset: Userset, subjects: readonly SubjectForm[]): RelationExpression {
  const { computedUserset, tupleToUserset, union, intersection, difference } = userset
  if (computedUserset) return { kind: 'relation', name: computedUserset.relation }
  if (tupleToUserset) {
    const { tupleset, computedUserset: computed } = tupleToUserset
    return { kind: 'arrow', through: tupleset.relation, name: computed.relation, every: false }
  }
  if (union) return { kind: 'any', of: union.child.map((child) => fromUserset(child, subjects)) }
  if (intersection) return { kind: 'all', of: intersection.child.map((child) => fromUserset(child, subjects)) }
  if (difference) {
    const [base, minus] = [fromUserset(difference.base, subjects), fromUserset(difference.subtract, subjects)]
    return { kind: 'except', base, minus }
  }
  return { kind: 'direct', subjects }
}

function fromJsonType({ type_name, generic_types = [] }: OpenFgaType): ConditionType {
  const name = type_name.replace('TYPE_NAME_', '').toLowerCase()
  const [inner] = generic_types
  if (inner === undefined) return name
  return name === 'map' ? { map: fromJsonType(inner) } : { list: fromJsonType(inner) }
}
