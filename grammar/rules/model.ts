// Rules for models: definitions of derived relationships.
import type { DefinitionEnd, DefinitionText, ModelText, NodePattern } from '../ast.ts'
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

/** Rules for models. */
export abstract class ModelRules extends ClauseRules {
  /** The whole text of a model. */
  readonly model = this.RULE('model', (): ModelText => {
    const start = this.here()
    const definitions: DefinitionText[] = []
    this.MANY(() => {
      definitions.push(this.SUBRULE(this.definition))
      this.OPTION(() => this.CONSUME(t.Semicolon))
    })
    return build.model(definitions, this.since(start))
  })

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
