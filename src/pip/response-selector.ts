// The selector of a resolver: which part of an upstream answer is the value (`.`, `.a.b`, `.list[0].price`).
import { isJsonObject, jsonKindOf } from '../kernel/json-kind.ts'
import { err, ok, type Result } from '../kernel/result.ts'

/** A member's name or an item's index, from the outside in; empty for the whole answer. */
export type SelectorPath = readonly (string | number)[]

const WHOLE = /^\.$/
const STEP = /\.([\p{L}_][\p{L}\p{N}_-]*)|\.?\[(\d{1,9})\]/uy

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

/** A member or an item that is not there is null, and so is what would be within null. */
export function select(selection: SelectorPath, answer: unknown): Result<unknown, string> {
  let at: unknown = answer
  for (const step of selection) {
    if (at === null) return ok(null)
    if (typeof step === 'number' ? !Array.isArray(at) : !isJsonObject(at)) {
      return err(`the selector asks ${jsonKindOf(at)} for ${typeof step === 'number' ? `item ${step}` : `\`${step}\``}`)
    }
    at = Object.hasOwn(at as object, step) ? (at as Record<string | number, unknown>)[step] : null
  }
  return ok(at)
}
