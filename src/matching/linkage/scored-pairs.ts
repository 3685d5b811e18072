// Pairs of records with their scores, as columns.

/** A growing list of pairs. */
export class ScoredPairs {
  size = 0
  sources = new Uint32Array(1 << 10)
  targets = new Uint32Array(1 << 10)
  scores = new Float64Array(1 << 10)
  /** The sum of the prior and the weights; infinite if a person declared the pair the same. */
  bits = new Float64Array(1 << 10)
  /** 1: a person declared the pair the same. */
  decided = new Uint8Array(1 << 10)

  add(source: number, target: number, score: number, bits: number, isDecided: boolean): void {
    if (this.size === this.sources.length) this.#grow()
    this.sources[this.size] = source
    this.targets[this.size] = target
    this.scores[this.size] = score
    this.bits[this.size] = bits
    this.decided[this.size] = isDecided ? 1 : 0
    this.size += 1
  }

  #grow(): void {
    const length = this.size * 2
    const { sources, targets, scores, bits, decided } = this
    this.sources = new Uint32Array(length)
    this.targets = new Uint32Array(length)
    this.scores = new Float64Array(length)
    this.bits = new Float64Array(length)
    this.decided = new Uint8Array(length)
    this.sources.set(sources)
    this.targets.set(targets)
    this.scores.set(scores)
    this.bits.set(bits)
    this.decided.set(decided)
  }
}
