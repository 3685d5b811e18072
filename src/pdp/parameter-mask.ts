// Which parameters may be written down: values of callers are personal more often than not, so the rule names what is hidden,
// and without a rule everything is.

import { isJsonObject } from '../kernel/json-kind.ts'

const MASKED = '***'

export class ParameterMask {
  /** Null: all names. */
  private readonly hidden: ReadonlySet<string> | null

  /** `*` hides all values, `none` hides none; else the names of what to hide, with commas between them and `$` or without. */
  constructor(rule: string) {
    const given = rule.split(',').map((name) => name.trim().replace(/^\$/, ''))
    const names = new Set(given.filter((name) => name !== ''))
    if (names.has('*') || names.size === 0) this.hidden = null
    else this.hidden = names.size === 1 && names.has('none') ? new Set() : names
  }

  /** The names stay: that a parameter was sent is what explains a decision. A name is hidden as a member of others too. */
  apply(parameters: Readonly<Record<string, unknown>>): Record<string, unknown> {
    const { hidden } = this
    const members = Object.entries(parameters)
    return Object.fromEntries(
      members.map(([name, value]) => [name, hidden === null || hidden.has(name) ? MASKED : this.within(value)]),
    )
  }

  private within(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.within(item))
    return isJsonObject(value) ? this.apply(value) : value
  }
}
