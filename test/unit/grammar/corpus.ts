// Queries for mutation: the tables of accepted and refused texts, and the openCypher suite if it is present.

import { readSuite } from '../../tck/suite-queries.ts'
import { readCases } from './read-cases.ts'

/** The suite has one query of thousands of characters; its mutations are all alike. */
const LENGTH_MAX = 2_000

export function corpus(): string[] {
  return [
    ...readCases('accepted.case', '=').map(({ text }) => text),
    ...readCases('refused.case', '!').map(({ text }) => text),
    ...readSuite().map(({ query }) => query),
  ].filter((text) => text.length <= LENGTH_MAX)
}
