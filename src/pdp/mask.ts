// Which parameters may be written down: values of callers are personal more often than not, so the rule names what is hidden,
// and without a rule everything is.

export const MASKED = '***'

export class Mask {
  /** Null: all names. */
  private readonly hidden: ReadonlySet<string> | null

  /** `*` hides all values, `none` hides none; else the names of the parameters to hide, with commas between them. */
  constructor(rule: string) {
    const names = rule.split(',').map((name) => name.trim())
    this.hidden = names.includes('*') ? null : new Set(rule.trim() === 'none' ? [] : names)
  }

  hides(name: string): boolean {
    return this.hidden === null || this.hidden.has(name)
  }

  /** The names stay: that a parameter was sent is what explains a decision. */
  of(parameters: Readonly<Record<string, unknown>>): Record<string, unknown> {
    const members = Object.entries(parameters).map(([name, value]) => [name, this.hides(name) ? MASKED : value])
    return Object.fromEntries(members)
  }
}
