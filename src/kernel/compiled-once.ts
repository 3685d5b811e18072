// Memoizes a compilation by the object that it was made from.

/**
 * Results by source object, for sources that are never changed, such as stored documents: a new revision is another
 * object. A result is garbage-collected together with its source.
 */
export class CompiledOnce<Source extends object, Compiled> {
  private readonly results = new WeakMap<Source, { readonly compiled: Compiled }>()

  /** Returns the result for `source`. Calls `compile` the first time; if it throws, nothing is kept. */
  get(source: Source, compile: (source: Source) => Compiled): Compiled {
    const known = this.results.get(source)
    if (known !== undefined) return known.compiled
    const compiled = compile(source)
    this.results.set(source, { compiled })
    return compiled
  }
}
