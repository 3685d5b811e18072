// The names of the data with which the examples of lint rules are compared.
import type { DataNames } from '../../src/language/lint/data-names.ts'

export const exampleNames: DataNames = {
  label: new Set(['Person', 'Car', 'Team', 'Fast']),
  type: new Set(['OWNS', 'KNOWS', 'MEMBER']),
  property: new Set(['age', 'wheels', 'app']),
}
