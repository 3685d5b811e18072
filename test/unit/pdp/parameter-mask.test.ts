// Which parameter values are masked in logs and explanations.
import { expect, it } from 'vitest'
import { Float } from '../../../src/kernel/float.ts'
import { ParameterMask } from '../../../src/pdp/parameter-mask.ts'

const parameters = { pin: 1, level: new Float(2), subject_properties: { pin: 1, of: [{ pin: 1, big: 2n ** 60n }] } }
const all = { pin: '***', level: '***', subject_properties: '***' }
const pins = { ...parameters, pin: '***', subject_properties: { pin: '***', of: [{ pin: '***', big: 2n ** 60n }] } }

it.each([
  ['*', all],
  ['level, *', all],
  // A rule without a name is a mistake and must not reveal everything.
  [' , ', all],
  ['none', parameters],
  ['pin', pins],
  ['$pin, other', pins],
  ['none, pin', pins],
])('%j', (rule, expected) => {
  expect(new ParameterMask(rule).apply(parameters)).toStrictEqual(expected)
})
