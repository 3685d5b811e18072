// Queries to be mutated: the tables of accepted and refused texts, and the openCypher suite where it is at hand.

import { readSuite } from '../../tck/suite-queries.ts'
import { readCases } from './read-cases.ts'

/** The suite has one query of thousands of characters; mutations of it are all alike. */
const LENGTH_MAX = 2_000

export function corpus(): string[] {
  return [
    ...readCases('accepted.case', '=').map(({ text }) => text),
    ...readCases('refused.case', '!').map(({ text }) => text),
    ...readSuite().map(({ query }) => query),
  ].filter((text) => text.length <= LENGTH_MAX)
}
