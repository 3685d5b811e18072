// Any text that parses can be compared with declared types: the check ends with problems inside of the text, and never throws.
import { expect, test } from 'vitest'
import { compileModel } from '../../../src/model/project-model.ts'
import { textProblems } from '../../../src/model/type-problems.ts'
import { corpus } from '../grammar/corpus.ts'

test('every text of the corpus can be compared', () => {
  const model = compileModel('(:A {x INTEGER}), (:B {y STRING}), (:A&B), (:A|B)-[:T {w FLOAT}]->(:B), ()-[:R]->()')
  if (!model.ok) throw new Error(model.error[0]!.message)
  const types = model.value.types!
  let compared = 0
  for (const text of corpus()) {
    for (const { span } of textProblems(text, types).problems) {
      expect(span.start, text).toBeGreaterThanOrEqual(0)
      expect(span.end, text).toBeLessThanOrEqual(text.length)
    }
    compared += 1
  }
  expect(compared).toBeGreaterThan(50)
})
