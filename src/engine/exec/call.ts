// Calls of functions over compiled arguments: who sees a null, and who is spared it.
import { assert } from '../../kernel/assert.ts'
import type { CypherFunction } from '../value/functions/function.ts'
import { functionNamed, MAP_PROJECTION, mapProjection } from '../value/functions.ts'
import type { Evaluate } from './context.ts'

export function callFunction(name: string, args: readonly Evaluate[]): Evaluate {
  const entry = name === MAP_PROJECTION ? mapProjection : functionNamed(name)
  assert(entry, `the binder lets no unknown function pass: ${name}`)
  if (entry.name === 'coalesce') return firstGiven(args)
  return counted(entry, entry.nulls === 'given' ? withNulls(entry, args) : withoutNulls(entry, args))
}

/** The call itself; what grows with the arguments is charged by the function. */
function counted({ steps }: CypherFunction, call: Evaluate): Evaluate {
  return (run) => {
    run.budget.touch(steps)
    return call(run)
  }
}

function firstGiven(args: readonly Evaluate[]): Evaluate {
  return (run) => {
    for (const arg of args) {
      const value = arg(run)
      if (value !== null) return value
    }
    return null
  }
}

const absent: Evaluate = () => null

function withNulls(entry: CypherFunction, [a = absent, b = absent, c = absent]: readonly Evaluate[]): Evaluate {
  return (run) => entry.call(run, a(run), b(run), c(run))
}

function withoutNulls(entry: CypherFunction, args: readonly Evaluate[]): Evaluate {
  const [a = absent, b = absent, c = absent] = args
  if (args.length === 0) return (run) => entry.call(run, null, null, null)
  if (args.length === 1) {
    return (run) => {
      const first = a(run)
      return first === null ? null : entry.call(run, first, null, null)
    }
  }
  const three = args.length === 3
  return (run) => {
    const first = a(run)
    const second = b(run)
    const third = c(run)
    if (first === null || second === null || (three && third === null)) return null
    return entry.call(run, first, second, third)
  }
}
