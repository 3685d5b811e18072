// Trust scores in texts: `n.trust_score.validity` stands for a pattern, because a score is a node of its own.
import type { Expression, PropertyAccess, Span } from '../../../grammar/ast.ts'
import { assert } from '../../kernel/assert.ts'
import { TRUST_SCORE_LABEL } from '../../kernel/element-rules.ts'
import type { ExpressionBinder } from './expression-binder.ts'

/** The name under which a node has its score. */
const SCORES = 'trust_score'
/** The weighted mean, which a service variable has without `trust_score` too. */
const FINAL_SCORE = '_final_score'

/** Reads the trust score of a node: `[(n)-[:_HAS]->(s:_TrustScore) | s.name][0]`; null before the first pass. */
export function scoreExpression(of: Expression, name: string, span: Span): Expression {
  assert(of.kind === 'variable', 'only a node has a trust score')
  const element = (text: string | null) => (text === null ? null : { text, span })
  const node = (text: string | null, label: string | null): PatternNode => ({
    kind: 'node',
    variable: element(text),
    labels: label === null ? null : { kind: 'label', name: label, span },
    properties: null,
    where: null,
    span,
  })
  const scores: Expression = {
    kind: 'pattern-comprehension',
    pattern: {
      kind: 'path',
      variable: null,
      shortest: null,
      // A name that no text can contain without quotes.
      nodes: [node(of.name, null), node(' score', TRUST_SCORE_LABEL)],
      relationships: [
        {
          kind: 'relationship',
          variable: null,
          direction: 'right',
          types: { kind: 'label', name: '_HAS', span },
          range: null,
          properties: null,
          where: null,
          span,
        },
      ],
      span,
    },
    where: null,
    projection: {
      kind: 'property',
      target: { kind: 'variable', name: ' score', span },
      key: { text: name, span },
      span,
    },
    span,
  }
  return { kind: 'index', target: scores, index: { kind: 'integer', value: 0, span }, span }
}

type PatternNode = Extract<Expression, { kind: 'pattern-comprehension' }>['pattern']['nodes'][number]

/**
 * The pattern that `n.trust_score.<name>` stands for, or `_final_score` of a service variable; null: the text reads something
 * else.
 */
export function scoreRead({ target, key, span }: PropertyAccess, { scope }: ExpressionBinder): Expression | null {
  const { scoredVariables } = scope
  if (scoredVariables === null) return null
  const isMember = target.kind === 'property' && target.key.text === SCORES
  const of = isMember ? target.target : target
  if (of.kind !== 'variable' || scope.lookup(of.name)?.kind !== 'node') return null
  const isFinal = key.text === FINAL_SCORE && scoredVariables.includes(of.name)
  return isMember || isFinal ? scoreExpression(of, key.text, span) : null
}
