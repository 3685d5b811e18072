// Groups of values that are joined with each other. Immutable: an alternative adds to the groups that are known before it.

/** Groups of values by name. A value in no group is joined with itself only. */
export class PartitionOfValues {
  static readonly none = new PartitionOfValues(new Map())

  /** By name, the group. */
  private readonly groups: ReadonlyMap<string, number>

  private constructor(groups: ReadonlyMap<string, number>) {
    this.groups = groups
  }

  areJoined(left: string, right: string): boolean {
    const group = this.groups.get(left)
    return left === right || (group !== undefined && group === this.groups.get(right))
  }

  /** These groups, with the values in one. */
  join(values: ReadonlySet<string>): PartitionOfValues {
    if (values.size < 2) return this
    const merged = new Set<number>()
    for (const value of values) {
      const group = this.groups.get(value)
      if (group !== undefined) merged.add(group)
    }
    const next = Math.max(0, ...this.groups.values()) + 1
    const groups = new Map([...this.groups].map(([name, group]) => [name, merged.has(group) ? next : group]))
    for (const value of values) groups.set(value, next)
    return new PartitionOfValues(groups)
  }

  /** Returns the groups of values that are joined in all of the partitions. */
  static inAll(partitions: readonly PartitionOfValues[]): PartitionOfValues {
    const [first, ...others] = partitions
    if (first === undefined || others.length === 0) return first ?? PartitionOfValues.none
    const groups = new Map<string, number>()
    const byKey = new Map<string, number>()
    for (const name of first.groups.keys()) {
      const own = partitions.map((partition) => partition.groups.get(name))
      if (own.includes(undefined)) continue
      const key = own.join(' ')
      const group = byKey.get(key) ?? byKey.size
      byKey.set(key, group)
      groups.set(name, group)
    }
    return new PartitionOfValues(groups)
  }
}
