// Masks parameters in logs and explanations. Values are often personal data, so everything is masked by default.

import { isJsonObject } from '../kernel/json/json-kind.ts'

const MASKED = '***'

/** A masking rule. */
export class ParameterMask {
  /** Null: all names are masked. */
  private readonly hidden: ReadonlySet<string> | null

  /**
   * `rule`: `*` masks all values, `none` masks none; otherwise comma-separated parameter names, with or without `$`.
   */
  constructor(rule: string) {
    const given = rule.split(',').map((name) => name.trim().replace(/^\$/, ''))
    const names = new Set(given.filter((name) => name !== ''))
    if (names.has('*') || names.size === 0) this.hidden = null
    else this.hidden = names.size === 1 && names.has('none') ? new Set() : names
  }

  /**
   * Returns the parameters with masked values. Names remain, because the presence of a parameter explains a decision. A
   * name is also masked as a member of other values.
   */
  apply(parameters: Readonly<Record<string, unknown>>): Record<string, unknown> {
    const { hidden } = this
    const members = Object.entries(parameters)
    return Object.fromEntries(
      members.map(([name, value]) => [name, hidden === null || hidden.has(name) ? MASKED : this.within(value)]),
    )
  }

  /** Returns the value that is reached by these names, masked if one of them is, or if a member of the value is. */
  valueAt(names: readonly string[], value: unknown): unknown {
    const isHidden = this.hidden === null || names.some((name) => this.hidden?.has(name))
    return isHidden ? MASKED : this.within(value)
  }

  private within(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.within(item))
    return isJsonObject(value) ? this.apply(value) : value
  }
}
