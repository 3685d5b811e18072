// Random filters of decision policies: trees of all operators over parameters, claims and entities, with matching and
// non-matching values.
import type { Random } from './random.ts'

const attributes = [
  '$number',
  '$float',
  '$text',
  '$texts',
  '$unset',
  '$claims.level',
  '$claims.act.sub',
  '$claims.none',
  '$token.sub',
  'subject.external_id',
  'resource.external_id',
  'subject.type',
  '$resource_external_id',
  '$resource_properties.a',
]
const references = ['$number', '$text', '$claims.level', '$subject_external_id', '$texts', '$unset', '$token.sub']
const literals = [0, 1, 1.5, 'a', 'n1', 'n2', true, false]
const comparisons = ['=', '<>', '<', '<=', '>', '>=']
const texts = ['=~', 'STARTS WITH', 'ENDS WITH', 'CONTAINS']

export function randomFilter(random: Random, depth = 2): object {
  const advice = random.odds(0.3) ? { advice: { error: random.pick(['one', 'two', 'three']) } } : {}
  if (depth > 0 && random.odds(0.6)) {
    const operator = random.pick(['AND', 'OR', 'NOT'])
    const count = operator === 'NOT' ? 1 : random.between(2, 3)
    return { operator, operands: Array.from({ length: count }, () => randomFilter(random, depth - 1)), ...advice }
  }
  const operator = random.pick([...comparisons, ...comparisons, 'IN', ...texts, 'IS NULL', 'IS NOT NULL'])
  const value = operator.startsWith('IS ') ? {} : { value: randomValue(random, operator) }
  return { operator, attribute: random.pick(attributes), ...value, ...advice }
}

function randomValue(random: Random, operator: string): unknown {
  if (operator === 'IN') {
    if (random.odds(0.3)) return '$texts'
    const items = Array.from({ length: random.between(0, 3) }, () => random.pick(literals))
    return random.odds(0.3) ? [...items, random.pick(references)] : items
  }
  if (random.odds(0.4)) return random.pick(references)
  if (texts.includes(operator)) return random.pick(operator === '=~' ? ['n[12]', 'a.*', ''] : ['a', 'n', ''])
  return random.odds(0.2) ? { type: 'datetime', value: random.pick(['$text', '$number']) } : random.pick(literals)
}
