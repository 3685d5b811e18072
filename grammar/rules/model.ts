// Rules for models: declared types, and definitions of derived relationships.
import type {
  DefinitionEnd,
  DefinitionText,
  GraphTypeText,
  LabelSets,
  ModelText,
  Name,
  NodePattern,
  NodeTypeText,
  PropertyTypeText,
  RelationshipTypeText,
  Span,
} from '../ast.ts'
import * as build from '../build-ast.ts'
import { throwSyntaxError } from '../syntax-error.ts'
import * as t from '../tokens.ts'
import { kw } from '../tokens.ts'
import { ClauseRules } from './clauses.ts'

/** The end of a definition that a node pattern writes: `(name)` or `(name:Label)`. */
function endOf({ variable, labels, properties, where, span }: NodePattern): DefinitionEnd {
  if (variable !== null && properties === null && where === null) return { variable, labels, span }
  const expected = 'a variable with labels, such as `(u:User)`'
  const message =
    variable === null
      ? 'each end of a definition needs a variable, which its body uses'
      : 'conditions on the ends of a definition belong into its body'
  throwSyntaxError({ code: 'InvalidDefinition', message, span, found: 'a node pattern', expected })
}

/** `(:User {…})` in a list of types: a node type, or the end of a relationship type. */
interface TypedNode {
  readonly labels: LabelSets
  readonly properties: readonly PropertyTypeText[]
  readonly span: Span
}

interface TypedArrow {
  readonly names: readonly Name[]
  readonly properties: readonly PropertyTypeText[]
  readonly pointsRight: boolean
}

function rejectType(message: string, span: Span, found: string, expected: string): never {
  throwSyntaxError({ code: 'InvalidGraphType', message, span, found, expected })
}

function nodeTypeOf({ labels, properties, span }: TypedNode): NodeTypeText {
  if (labels.length > 0) return { kind: 'node-type', labels, properties, span }
  rejectType('a node type needs a label', span, 'a node type', 'a label, such as `(:User)`')
}

/** The labels of an end of a relationship type. */
function typeEndOf({ labels, properties }: TypedNode): LabelSets {
  const [first] = properties
  if (first === undefined) return labels
  const message = 'the properties of a node belong to its node type, in an item of its own: `(:User {email STRING})`'
  rejectType(message, first.span, `\`${first.name.text}\``, '`)`')
}

/** Rules for models. */
export abstract class ModelRules extends ClauseRules {
  /** The whole text of a model. */
  readonly model = this.RULE('model', (): ModelText => {
    const start = this.here()
    const types = this.OPTION(() => this.SUBRULE(this.graphType)) ?? null
    const definitions: DefinitionText[] = []
    this.MANY(() => {
      definitions.push(this.SUBRULE(this.definition))
      this.OPTION2(() => this.CONSUME(t.Semicolon))
    })
    return build.model(types, definitions, this.since(start))
  })

  // ---------------------------------------------------------------- declared types

  /** `[OPEN | CLOSED] type, …`. */
  readonly graphType = this.RULE('graphType', (): GraphTypeText => {
    const start = this.here()
    const mode =
      this.OPTION(() =>
        this.OR([
          { ALT: (): GraphTypeText['mode'] => this.CONSUME(kw.OPEN) && 'open' },
          { ALT: (): GraphTypeText['mode'] => this.CONSUME(kw.CLOSED) && 'closed' },
        ]),
      ) ?? 'open'
    const elements: GraphTypeText['elements'][number][] = []
    this.AT_LEAST_ONE_SEP({
      SEP: t.Comma,
      DEF: () => elements.push(this.SUBRULE(this.elementType)),
      ERR_MSG: 'a type such as `(:User)`',
    })
    const span = this.since(start)
    this.OPTION2(() => this.CONSUME(t.Semicolon))
    return { kind: 'graph-type', mode, elements, span }
  })

  /** `(:User {…})` or `(:User)-[:MEMBER {…}]->(:Group)`. */
  readonly elementType = this.RULE('elementType', (): NodeTypeText | RelationshipTypeText => {
    const start = this.here()
    const left = this.SUBRULE(this.typedNode)
    let arrow: TypedArrow | undefined
    let right: TypedNode | undefined
    this.OPTION(() => {
      arrow = this.SUBRULE(this.typedArrow)
      right = this.SUBRULE2(this.typedNode)
    })
    if (this.RECORDING_PHASE) return { kind: 'node-type', labels: [], properties: [], span: this.since(start) }
    if (arrow === undefined || right === undefined) return nodeTypeOf(left)
    const { names, properties, pointsRight } = arrow
    const [source, target] = pointsRight ? [left, right] : [right, left]
    return {
      kind: 'relationship-type',
      names,
      source: typeEndOf(source),
      target: typeEndOf(target),
      properties,
      span: this.since(start),
    }
  })

  readonly typedNode = this.RULE('typedNode', (): TypedNode => {
    const start = this.here()
    this.CONSUME(t.OpenParen)
    const labels: (readonly Name[])[] = []
    this.OPTION(() => {
      this.SUBRULE(this.typeSign)
      labels.push(this.SUBRULE(this.labelSet))
      this.MANY(() => {
        this.CONSUME(t.Bar)
        labels.push(this.SUBRULE2(this.labelSet))
      })
    })
    const properties = this.OPTION2(() => this.SUBRULE(this.propertyTypes)) ?? []
    this.CONSUME(t.CloseParen)
    return { labels, properties, span: this.since(start) }
  })

  /** `:` or `IS`. */
  readonly typeSign = this.RULE('typeSign', (): void => {
    this.OR([{ ALT: () => this.CONSUME(t.Colon) }, { ALT: () => this.CONSUME(kw.IS) }])
  })

  /** `User&Admin`. */
  readonly labelSet = this.RULE('labelSet', (): readonly Name[] => {
    const names: Name[] = []
    this.AT_LEAST_ONE_SEP({ SEP: t.Ampersand, DEF: () => names.push(this.SUBRULE(this.anyName)), ERR_MSG: 'a label' })
    return names
  })

  /** `-[:MEMBER {…}]->` or `<-[:MEMBER {…}]-`. */
  readonly typedArrow = this.RULE('typedArrow', (): TypedArrow => {
    const pointsLeft = this.OPTION(() => this.CONSUME(t.Less)) !== undefined
    this.CONSUME(t.Minus)
    this.CONSUME(t.OpenBracket)
    this.SUBRULE(this.typeSign)
    const names = [this.SUBRULE(this.anyName)]
    this.MANY(() => {
      this.CONSUME(t.Bar)
      names.push(this.SUBRULE2(this.anyName))
    })
    const properties = this.OPTION2(() => this.SUBRULE(this.propertyTypes)) ?? []
    this.CONSUME(t.CloseBracket)
    this.CONSUME2(t.Minus)
    this.OPTION3({ GATE: () => !pointsLeft, DEF: () => this.CONSUME(t.Greater) })
    if (!this.RECORDING_PHASE && !pointsLeft && this.LA(0).tokenType !== t.Greater) {
      const span = this.since(this.LA(0).startOffset)
      rejectType('a relationship type has a direction', span, '`-`', '`->`')
    }
    return { names, properties, pointsRight: !pointsLeft }
  })

  /** `{email STRING NOT NULL, tags LIST<STRING>}`. */
  readonly propertyTypes = this.RULE('propertyTypes', (): readonly PropertyTypeText[] => {
    const properties: PropertyTypeText[] = []
    this.CONSUME(t.OpenBrace)
    this.MANY_SEP({ SEP: t.Comma, DEF: () => properties.push(this.SUBRULE(this.propertyType)) })
    this.CONSUME(t.CloseBrace, {
      ERR_MSG: properties.length === 0 ? 'a property such as `email STRING`' : '`,` or `}`',
    })
    return properties
  })

  /** `email STRING`, `email :: STRING` or `email TYPED STRING`. */
  readonly propertyType = this.RULE('propertyType', (): PropertyTypeText => {
    const start = this.here()
    const name = this.SUBRULE(this.anyName)
    this.OPTION(() =>
      this.OR([
        { ALT: () => this.CONSUME(kw.TYPED) },
        {
          ALT: () => {
            this.CONSUME(t.Colon)
            this.CONSUME2(t.Colon)
          },
        },
      ]),
    )
    const types = this.SUBRULE(this.valueTypes)
    return { kind: 'property-type', name, types, span: this.since(start) }
  })

  // ---------------------------------------------------------------- definitions

  readonly definition = this.RULE('definition', (): DefinitionText => {
    const start = this.here()
    this.CONSUME(kw.DEFINE)
    const source = this.SUBRULE(this.node)
    this.CONSUME(t.Minus)
    this.CONSUME(t.OpenBracket)
    this.CONSUME(t.Colon)
    const name = this.SUBRULE(this.anyName)
    this.CONSUME(t.CloseBracket)
    this.CONSUME2(t.Minus)
    this.CONSUME(t.Greater)
    const target = this.SUBRULE2(this.node)
    this.CONSUME(kw.AS)
    this.CONSUME(t.OpenBrace)
    const body = this.SUBRULE(this.query)
    this.CONSUME(t.CloseBrace)
    const span = this.since(start)
    if (this.RECORDING_PHASE) return build.definition(name, source as never, target as never, body, span)
    return build.definition(name, endOf(source), endOf(target), body, span)
  })
}
