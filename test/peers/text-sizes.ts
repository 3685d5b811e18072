// How long the text of a model is here, against the text of the peer: without comments, with single spaces.

import { ConvertedModel } from '../../src/migration/write-model.ts'
import type { PeerCase } from './peer-case.ts'

/** The quotients of all cases that have a text, ascending. */
export function sizeQuotients(cases: readonly PeerCase[]): readonly number[] {
  const texts = new Map(cases.map((one) => [one.text, one.model]))
  return [...texts].map(([text, model]) => folded(new ConvertedModel(model).text) / folded(text)).sort((a, b) => a - b)
}

/** The value below which this part of the values is. */
export function quantile(ascending: readonly number[], part: number): number {
  return ascending[Math.min(Math.floor(ascending.length * part), ascending.length - 1)] ?? Number.NaN
}

function folded(text: string): number {
  const bare = text.replace(/\/\*[\s\S]*?\*\//g, ' ').replace(/(^|\s)(#|\/\/)[^\n]*/g, ' ')
  return bare.replace(/\s+/g, ' ').trim().length
}
