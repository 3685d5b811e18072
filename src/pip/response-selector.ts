// The response selector of a resolver: which part of a response is the value (`.`, `.a.b`, `.list[0].price`).
import { isJsonObject, jsonKindOf } from '../kernel/json/json-kind.ts'
import { err, ok, type Result } from '../kernel/result.ts'

/** Member names and item indices, from the outside in; empty for the whole response. */
export type SelectorPath = readonly (string | number)[]

const WHOLE = /^\.$/
const STEP = /\.([\p{L}_][\p{L}\p{M}\p{N}_-]*)|\.?\[(\d{1,9})\]/uy

/** Parses a selector. The error is a message for the author. */
export function parseSelector(text: string): Result<SelectorPath, string> {
  if (WHOLE.test(text)) return ok([])
  const steps: (string | number)[] = []
  let at = 0
  while (at < text.length) {
    STEP.lastIndex = at
    const found = STEP.exec(text)
    if (found === null || (at > 0 && found[0].startsWith('.['))) {
      return err(`expected \`.name\` or \`[index]\` at character ${at + 1}, found \`${text.slice(at, at + 16)}\``)
    }
    steps.push(found[1] ?? Number(found[2]))
    at = STEP.lastIndex
  }
  return text.startsWith('.') ? ok(steps) : err('expected a selector that begins with `.`')
}

/**
 * Selects a part of a response. An absent member or item, or any part of null, is null. Error: a step meets a value of
 * another type.
 */
export function select(selection: SelectorPath, answer: unknown): Result<unknown, string> {
  let at: unknown = answer
  for (const step of selection) {
    if (at === null) return ok(null)
    if (typeof step === 'number' ? !Array.isArray(at) : !isJsonObject(at)) {
      return err(
        `the selector expects ${typeof step === 'number' ? `item ${step}` : `\`${step}\``}, found ${jsonKindOf(at)}`,
      )
    }
    at = Object.hasOwn(at as object, step) ? (at as Record<string | number, unknown>)[step] : null
  }
  return ok(at)
}
