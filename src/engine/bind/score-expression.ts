// Trust scores in texts: `n.trust_score.validity` stands for a pattern, because a score is a node of its own.
import type { Expression, LabelExpression, PropertyAccess, Span } from '../../../grammar/ast.ts'
import { suggestion } from '../../../grammar/suggest.ts'
import { assert } from '../../kernel/assert.ts'
import { TRUST_SCORE_LABEL, trustScoreNames } from '../../kernel/element-rules.ts'
import type { BoundExpression } from './bound.ts'
import type { ExpressionBinder } from './expression-binder.ts'
import { plainNode, plainPath, plainStep } from './plain-patterns.ts'

/** The name under which a node has its score. */
const SCORES = 'trust_score'
/** The weighted mean, which a service variable has without `trust_score` too. */
const FINAL_SCORE = '_final_score'
/** The variable of the score. No text can contain the name without quotes. */
const VARIABLE = ' score'

/** Whether a variable is that of a score. Its properties exist from the first pass on, so no warning says that they are unknown. */
export function isScoreVariable(name: string): boolean {
  return name === VARIABLE
}

/** Reads the trust score of a node: `[(n)-[:_HAS]->(s:_TrustScore) | s.name][0]`; null before the first pass. */
export function scoreExpression(of: Expression, name: string, span: Span): Expression {
  assert(of.kind === 'variable', 'only a node has a trust score')
  const label: LabelExpression = { kind: 'label', name: TRUST_SCORE_LABEL, span }
  const nodes = [plainNode(of.name, span), plainNode(VARIABLE, span, label)]
  const scores: Expression = {
    kind: 'pattern-comprehension',
    pattern: plainPath(nodes, [plainStep('_HAS', span)], span),
    where: null,
    projection: {
      kind: 'property',
      target: { kind: 'variable', name: VARIABLE, span },
      key: { text: name, span },
      span,
    },
    span,
  }
  return { kind: 'index', target: scores, index: { kind: 'integer', value: 0, span }, span }
}

/**
 * The pattern that `n.trust_score.<name>` stands for, or `_final_score` of a service variable; null: the text reads something
 * else. Reports `UnknownScore` for a name that no score has.
 */
export function scoreRead({ target, key, span }: PropertyAccess, binder: ExpressionBinder): Expression | null {
  const { scope } = binder
  const { scoredVariables } = scope
  if (scoredVariables === null) return null
  const isMember = target.kind === 'property' && target.key.text === SCORES
  const of = isMember ? target.target : target
  if (of.kind !== 'variable' || scope.lookup(of.name)?.kind !== 'node') return null
  const isFinal = key.text === FINAL_SCORE && scoredVariables.includes(of.name)
  if (isMember && trustScoreNames.every((name) => name !== key.text)) {
    const message = `trust scores have no \`${key.text}\`${suggestion(key.text, trustScoreNames)}`
    binder.report('UnknownScore', message, key.span)
  }
  return isMember || isFinal ? scoreExpression(of, key.text, span) : null
}

/** The text of a bound score, as conditions write it; null: the expression reads something else. */
export function scoreText(bound: BoundExpression): string | null {
  if (bound.kind !== 'subquery') return null
  const last = bound.part.clauses.at(-1)
  const value = last?.kind === 'projection' ? last.projection.computed[0]?.expression : undefined
  if (value?.kind !== 'element-property' || !isScoreVariable(value.slot.name)) return null
  return `${bound.reads[0]?.name ?? ''}.${SCORES}.${value.key}`
}
