// The declared types of a project: which nodes, relationships and properties its data should have. Compiled from the text of a model,
// and read by the checks of texts and of captured data.
import type {
  DefinitionText,
  GraphTypeText,
  LabelExpression,
  LabelSets,
  Name,
  PropertyTypeText,
  Span,
} from '../../grammar/ast.ts'
import type { Diagnostic } from '../../grammar/diagnostic.ts'
import { suggestion } from '../../grammar/suggest.ts'
import type { ValueType, ValueTypeName } from '../../grammar/value-types.ts'
import { valueTypesText } from '../engine/value/value-type.ts'
import { assertNever } from '../kernel/assert.ts'
import { ELEMENT_NAME, elementNameRule, isReservedName, protectedNames } from '../kernel/element-rules.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { cypherName } from '../kernel/text/cypher-names.ts'

/** A declared property. */
interface PropertyType {
  readonly name: string
  readonly types: readonly ValueType[]
  /** Each element of the type has the property. */
  readonly isRequired: boolean
  /** As the model writes it: `STRING NOT NULL`. */
  readonly text: string
}

/** The declared properties of a type, by name. */
export type PropertyTypes = ReadonlyMap<string, PropertyType>

/** A declared type of nodes: nodes with exactly these labels, in any order. The type of a node is one of its labels. */
export interface NodeTypeDeclaration {
  readonly labels: ReadonlySet<string>
  readonly properties: PropertyTypes
  /** `(:User&Admin)`. */
  readonly text: string
}

/** A declared or derived type of relationships. */
export interface RelationshipTypeDeclaration {
  readonly name: string
  /** The node types at which it can begin. */
  readonly sources: ReadonlySet<NodeTypeDeclaration>
  readonly targets: ReadonlySet<NodeTypeDeclaration>
  readonly properties: PropertyTypes
  /** `(:User|Group)-[:MEMBER]->(:Group)`. */
  readonly text: string
}

/** Declarations of one model: far above what people write, and the checks of patterns take time for each. */
const DECLARATIONS_MAX = 1_000

/** The types that a property cannot have, each with the reason. */
const refusedTypes: Partial<Readonly<Record<ValueTypeName, string>>> = {
  NOTHING: 'no value has it',
  NULL: 'a property that is null is absent',
  NODE: 'use a relationship',
  RELATIONSHIP: 'use a node between the others',
  PATH: 'a property cannot hold a path',
  MAP: 'a property cannot hold a map: declare a property for each member',
  POINT: 'values have no points',
}

/**
 * Compiles declared types. `definitions`: their names are relationship types too, from and to the nodes of their heads. Error: every
 * diagnostic, with offsets of the text of the model.
 */
export function compileGraphTypes(
  text: GraphTypeText,
  definitions: readonly DefinitionText[],
): Result<GraphTypes, readonly Diagnostic[]> {
  const faults: Diagnostic[] = []
  const beyond = text.elements[DECLARATIONS_MAX]
  if (beyond !== undefined) {
    return err([fault('ModelTooLong', `more than ${DECLARATIONS_MAX} declared types`, beyond.span)])
  }
  const nodes = new Map<string, NodeTypeDeclaration>()
  for (const element of text.elements) {
    if (element.kind !== 'node-type') continue
    const properties = propertiesOf(element.properties, faults)
    for (const set of element.labels) {
      checkNames(set, 'label', faults)
      const labels = new Set(set.map((name) => name.text))
      const key = [...labels].sort().join('&')
      if (nodes.has(key)) {
        faults.push(
          fault(
            'InvalidGraphType',
            `the node type \`(:${key})\` is declared twice: join both declarations`,
            spanOf(set),
          ),
        )
      }
      nodes.set(key, { labels, properties, text: `(:${[...labels].map(cypherName).join('&')})` })
    }
  }
  const all = [...nodes.values()]
  const labels = new Set(all.flatMap((type) => [...type.labels]))
  const relationships: RelationshipTypeDeclaration[] = []
  for (const element of text.elements) {
    if (element.kind !== 'relationship-type') continue
    const properties = propertiesOf(element.properties, faults)
    const sources = endTypes(element.source, all, labels, faults)
    const targets = endTypes(element.target, all, labels, faults)
    checkNames(element.names, 'relationship type', faults)
    for (const { text: name, span } of element.names) {
      const derived = definitions.find((definition) => definition.name.text === name)
      if (derived !== undefined) {
        const message = `\`${name}\` is a definition, so it cannot be a declared relationship type too`
        faults.push(fault('InvalidGraphType', message, span))
      }
      const text = relationshipText(endText(element.source), name, endText(element.target))
      if (relationships.some((other) => other.text === text)) {
        faults.push(
          fault(
            'InvalidGraphType',
            `the relationship type \`${text}\` is declared twice: join both declarations`,
            span,
          ),
        )
      }
      relationships.push({ name, sources, targets, properties, text })
    }
  }
  const noProperties: PropertyTypes = new Map()
  const derived = definitions.map(({ name, source, target }): RelationshipTypeDeclaration => {
    const [from, to] = [source.labels, target.labels].map(
      (end) => new Set(all.filter((type) => allows(end, type.labels))),
    )
    return {
      name: name.text,
      sources: from!,
      targets: to!,
      properties: noProperties,
      text: `the definition \`${name.text}\``,
    }
  })
  return faults.length > 0 ? err(faults) : ok(new GraphTypes(text.mode, all, relationships, derived))
}

function fault(code: string, message: string, { start, end }: Span): Diagnostic {
  return { code, message, span: { start, end } }
}

function spanOf(names: readonly Name[]): Span {
  return { start: names[0]!.span.start, end: names.at(-1)!.span.end }
}

function checkNames(names: readonly Name[], kind: string, faults: Diagnostic[]): void {
  names.forEach((name, at) => {
    const { text, span } = name
    if (!ELEMENT_NAME.test(text)) faults.push(fault('InvalidGraphType', `a ${kind} is ${elementNameRule}`, span))
    else if (isReservedName(text)) {
      faults.push(
        fault('InvalidGraphType', `names that begin with \`_\` belong to the service and are not declared`, span),
      )
    }
    if (names.findIndex((other) => other.text === text) < at) {
      faults.push(fault('InvalidGraphType', `the ${kind} \`${text}\` is repeated`, span))
    }
  })
}

function propertiesOf(texts: readonly PropertyTypeText[], faults: Diagnostic[]): PropertyTypes {
  const properties = new Map<string, PropertyType>()
  for (const { name, types, span } of texts) {
    if (properties.has(name.text)) {
      faults.push(fault('InvalidGraphType', `the property \`${name.text}\` is declared twice`, name.span))
    }
    if (protectedNames.has(name.text)) {
      const message = `\`${name.text}\` is a field of every element and not a property: remove it`
      faults.push(fault('InvalidGraphType', message, name.span))
    }
    const reason = refusalOf(types, false)
    if (reason !== null) faults.push(fault('InvalidGraphType', reason, { start: name.span.end + 1, end: span.end }))
    properties.set(name.text, {
      name: name.text,
      types,
      isRequired: types.every(({ nullable }) => !nullable),
      text: valueTypesText(types),
    })
  }
  return properties
}

/** Why no property can have one of the types; null: one can have each. */
function refusalOf(types: readonly ValueType[], isInList: boolean): string | null {
  for (const { name, items } of types) {
    const reason = refusedTypes[name]
    if (reason !== undefined) return `a property cannot have the type \`${name}\`: ${reason}`
    if (name !== 'LIST') continue
    if (isInList) return 'a list of lists cannot be a property'
    const inner = refusalOf(items ?? [], true)
    if (inner !== null) return inner
  }
  return null
}

/** The node types that an end of a relationship type means. */
function endTypes(
  end: LabelSets,
  nodes: readonly NodeTypeDeclaration[],
  labels: ReadonlySet<string>,
  faults: Diagnostic[],
): ReadonlySet<NodeTypeDeclaration> {
  if (end.length === 0) return new Set(nodes)
  const found = new Set<NodeTypeDeclaration>()
  for (const set of end) {
    const unknown = set.filter(({ text }) => !labels.has(text))
    for (const { text, span } of unknown) {
      const message = `no node type has the label \`${text}\`${suggestion(text, labels)}`
      faults.push(
        fault('UnknownLabel', `${message}${message.endsWith('?') ? '' : `: declare \`(:${cypherName(text)})\``}`, span),
      )
    }
    const matching = nodes.filter((type) => set.every(({ text }) => type.labels.has(text)))
    if (matching.length === 0 && unknown.length === 0) {
      const all = set.map(({ text }) => cypherName(text)).join('&')
      faults.push(fault('UnknownLabel', `no node type has all these labels: declare \`(:${all})\``, spanOf(set)))
    }
    for (const type of matching) found.add(type)
  }
  return found
}

function endText(end: LabelSets): string {
  return end.length === 0 ? '()' : `(:${end.map((set) => set.map(({ text }) => cypherName(text)).join('&')).join('|')})`
}

function relationshipText(source: string, name: string, target: string): string {
  return `${source}-[:${cypherName(name)}]->${target}`
}

/** Whether a node with exactly these labels may have the label expression; null allows any. A dynamic label is true. */
export function allows(expression: LabelExpression | null, labels: ReadonlySet<string>): boolean {
  if (expression === null) return true
  switch (expression.kind) {
    case 'label':
      return labels.has(expression.name)
    case 'label-and':
      return expression.operands.every((operand) => allows(operand, labels))
    case 'label-or':
      return expression.operands.some((operand) => allows(operand, labels))
    case 'label-not':
      // The labels that a dynamic label excludes are not known.
      return isDynamic(expression.operand) || !allows(expression.operand, labels)
    case 'label-any':
    case 'label-dynamic':
      return true
    default:
      return assertNever(expression)
  }
}

function isDynamic(expression: LabelExpression): boolean {
  if (expression.kind === 'label-and' || expression.kind === 'label-or') return expression.operands.some(isDynamic)
  return expression.kind === 'label-not' ? isDynamic(expression.operand) : expression.kind === 'label-dynamic'
}

/** The declared types of a project. Never changed. */
export class GraphTypes {
  /** How captures treat data that no type allows. `open`: they warn. `closed`: they refuse it. */
  readonly mode: 'open' | 'closed'
  readonly nodes: readonly NodeTypeDeclaration[]
  readonly relationships: readonly RelationshipTypeDeclaration[]
  /** A definition has the ends of its head and no properties. */
  readonly derived: readonly RelationshipTypeDeclaration[]
  private readonly byName = new Map<string, RelationshipTypeDeclaration[]>()
  private readonly byLabels: ReadonlyMap<string, NodeTypeDeclaration>
  private readonly names: Readonly<Record<'label' | 'type' | 'property', ReadonlySet<string>>>

  /** Use `compileGraphTypes`. */
  constructor(
    mode: GraphTypes['mode'],
    nodes: readonly NodeTypeDeclaration[],
    relationships: readonly RelationshipTypeDeclaration[],
    derived: readonly RelationshipTypeDeclaration[],
  ) {
    this.mode = mode
    this.nodes = nodes
    this.relationships = relationships
    this.derived = derived
    for (const type of [...relationships, ...derived]) {
      const others = this.byName.get(type.name)
      if (others === undefined) this.byName.set(type.name, [type])
      else others.push(type)
    }
    this.byLabels = new Map(nodes.map((type) => [labelKey(type.labels), type]))
    this.names = {
      label: new Set(nodes.flatMap(({ labels }) => [...labels])),
      type: new Set(this.byName.keys()),
      property: new Set([...nodes, ...relationships].flatMap(({ properties }) => [...properties.keys()])),
    }
  }

  /** All declared names of a kind; relationship types with those of definitions. */
  symbolNames(kind: 'label' | 'type' | 'property'): ReadonlySet<string> {
    return this.names[kind]
  }

  /** 0 for a name that is not declared. Names of the service are known: no model declares them. */
  symbol(kind: 'label' | 'type' | 'property', name: string): number {
    return this.names[kind].has(name) || isReservedName(name) ? 1 : 0
  }

  /** The declarations of a relationship type; none for an unknown name. */
  relationshipsNamed(name: string): readonly RelationshipTypeDeclaration[] {
    return this.byName.get(name) ?? []
  }

  /** The type of nodes with exactly these labels; null: none is declared. */
  nodeType(labels: ReadonlySet<string>): NodeTypeDeclaration | null {
    return this.byLabels.get(labelKey(labels)) ?? null
  }
}

function labelKey(labels: ReadonlySet<string>): string {
  return labels.size === 1 ? [...labels][0]! : [...labels].sort().join('&')
}
