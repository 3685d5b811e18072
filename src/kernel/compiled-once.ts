// Memoizes a compilation by the object that it was made from.

/**
 * Results by source object, for sources that are never changed, such as stored documents: a new revision is another
 * object. A result is garbage-collected together with its source.
 */
export class CompiledOnce<Source extends object, Compiled> {
  private readonly results = new WeakMap<Source, { readonly compiled: Compiled }>()

  /** Whether `get` would not compile. */
  has(source: Source): boolean {
    return this.results.has(source)
  }

  /** Returns the result for `source`. Calls `compile` the first time; if it throws, nothing is kept. */
  get(source: Source, compile: (source: Source) => Compiled): Compiled {
    const known = this.results.get(source)
    if (known !== undefined) return known.compiled
    const compiled = compile(source)
    this.results.set(source, { compiled })
    return compiled
  }
}

/** As `CompiledOnce`, for a result that is made from two objects. */
export class CompiledForPair<First extends object, Second extends object, Compiled> {
  private readonly results = new CompiledOnce<First, CompiledOnce<Second, Compiled>>()

  /** Returns the result for both. Calls `compile` the first time; if it throws, nothing is kept. */
  get(first: First, second: Second, compile: () => Compiled): Compiled {
    return this.results.get(first, () => new CompiledOnce()).get(second, compile)
  }
}
