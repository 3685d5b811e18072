// Collects what the search index stores about a bundle of entries while it is sealed: their times, and a posting for each value that
// occurs in it.
import { hashOfTerm, indexedResource } from '../../store/audit/audit-terms.ts'
import {
  AUDIT_DIMENSION,
  type AuditBundle,
  type AuditDimension,
  type AuditPosting,
} from '../../store/audit/audit-types.ts'
import { actorValues, type EntryActor, type EntryTermFacts } from '../entry-terms.ts'

/** The times and the postings of one bundle. */
export class BundleTerms {
  private readonly generation: number
  private readonly bundle: number
  private fromMs: number
  private toMs: number
  private readonly types = new Set<string>()
  private readonly actors = new Set<string>()
  private readonly resources = new Set<string>()
  /** The actor of the last entry, whose values have postings. */
  private lastActor: EntryActor | null = null
  private postings: AuditPosting[] = []

  /** `stored`: the times of entries of the bundle that were sealed before. Their postings are added again if they recur. */
  constructor(generation: number, bundle: number, stored: Pick<AuditBundle, 'fromMs' | 'toMs'> | null) {
    this.generation = generation
    this.bundle = bundle
    this.fromMs = stored?.fromMs ?? Number.POSITIVE_INFINITY
    this.toMs = stored?.toMs ?? Number.NEGATIVE_INFINITY
  }

  /** Whether it is the bundle `bundle` of a generation. */
  isOf(generation: number, bundle: number): boolean {
    return this.generation === generation && this.bundle === bundle
  }

  /** Adds an entry. */
  add({ type, subject, timeMs, actor }: EntryTermFacts): void {
    this.fromMs = Math.min(this.fromMs, timeMs)
    this.toMs = Math.max(this.toMs, timeMs)
    this.addValue(this.types, AUDIT_DIMENSION.type, type)
    if (actor !== this.lastActor) {
      for (const value of actorValues(actor)) this.addValue(this.actors, AUDIT_DIMENSION.actor, value)
      this.lastActor = actor
    }
    if (subject !== '') this.addValue(this.resources, AUDIT_DIMENSION.resource, indexedResource(subject))
  }

  private addValue(known: Set<string>, dimension: AuditDimension, value: string): void {
    if (known.has(value)) return
    known.add(value)
    this.postings.push({ ...hashOfTerm({ dimension, value }), generation: this.generation, bundle: this.bundle })
  }

  /** The times of all its entries. */
  times(): AuditBundle {
    const { generation, bundle, fromMs, toMs } = this
    return { generation, bundle, fromMs, toMs }
  }

  /** The postings since the last call. */
  takePostings(): readonly AuditPosting[] {
    const { postings } = this
    this.postings = []
    return postings
  }
}
