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

export function randomFilter(chance: Random, depth = 2): object {
  const advice = chance.odds(0.3) ? { advice: { error: chance.pick(['one', 'two', 'three']) } } : {}
  if (depth > 0 && chance.odds(0.6)) {
    const operator = chance.pick(['AND', 'OR', 'NOT'])
    const count = operator === 'NOT' ? 1 : chance.between(2, 3)
    return { operator, operands: Array.from({ length: count }, () => randomFilter(chance, depth - 1)), ...advice }
  }
  const operator = chance.pick([...comparisons, ...comparisons, 'IN', ...texts, 'IS NULL', 'IS NOT NULL'])
  const value = operator.startsWith('IS ') ? {} : { value: randomValue(chance, operator) }
  return { operator, attribute: chance.pick(attributes), ...value, ...advice }
}

function randomValue(chance: Random, operator: string): unknown {
  if (operator === 'IN') {
    if (chance.odds(0.3)) return '$texts'
    const items = Array.from({ length: chance.between(0, 3) }, () => chance.pick(literals))
    return chance.odds(0.3) ? [...items, chance.pick(references)] : items
  }
  if (chance.odds(0.4)) return chance.pick(references)
  if (texts.includes(operator)) return chance.pick(operator === '=~' ? ['n[12]', 'a.*', ''] : ['a', 'n', ''])
  return chance.odds(0.2) ? { type: 'datetime', value: chance.pick(['$text', '$number']) } : chance.pick(literals)
}
