// ShortestPath: the paths that a selector keeps, for each input row.
import type { NodeId } from '../store.ts'
import { ConnectingPath } from './connecting-path.ts'
import type { ExecutionContext } from './execution-context.ts'
import { PathSearch, type PathSearchSpec } from './path-search.ts'
import { fillGroups } from './path-values.ts'
import { type PhysicalOperator, UnaryOperator } from './physical-operator.ts'

/** The kept paths from the node in `from` to the node in `to`, or to every node, shortest first for each end. */
export class ShortestPathOperator extends UnaryOperator {
  private readonly spec: PathSearchSpec
  private readonly search: PathSearch
  /** Set if one path between two nodes is wanted and any shortest walk is one. */
  private readonly connecting: ConnectingPath | null
  private from: NodeId = 0
  private to: NodeId = 0
  /** The ends of the current row that have not been tried yet, and the index of the next. */
  private ends: readonly NodeId[] = []
  private nextEnd = 0

  constructor(input: PhysicalOperator, spec: PathSearchSpec) {
    super(input)
    this.spec = spec
    this.search = new PathSearch(spec)
    this.connecting = connectingPath(spec)
  }

  override open(run: ExecutionContext): void {
    this.input.open(run)
    this.to = 0
    this.ends = []
    this.nextEnd = 0
  }

  next(run: ExecutionContext): boolean {
    const { frame } = run
    const { from, to } = this.spec
    for (;;) {
      if (this.to !== 0) {
        const found = this.search.next(run)
        // Predicates of hops have used the slots of the ends.
        frame[from] = this.from
        frame[to] = this.to
        if (found) return true
        this.to = 0
      }
      if (this.nextEnd < this.ends.length) {
        this.to = this.ends[this.nextEnd++]!
        this.search.enumerate(this.to)
        continue
      }
      if (!this.input.next(run)) return false
      const end = frame[to] as NodeId
      if (this.connecting !== null && frame[from] !== 0 && end !== 0 && frame[from] !== end) {
        if (this.connect(run, this.connecting, frame[from] as NodeId, end)) return true
      } else this.startRow(run)
    }
  }

  private connect(run: ExecutionContext, connecting: ConnectingPath, from: NodeId, to: NodeId): boolean {
    const { spec } = this
    const { frame } = run
    const [left, right] = spec.backwards ? [to, from] : [from, to]
    const path = connecting.find(run, left, right)
    // The predicate of the hop has used the slots of the ends.
    frame[spec.from] = from
    frame[spec.to] = to
    if (path === null) return false
    const step = spec.steps[0]!
    frame[spec.relationship] = path
    frame[step.slot] = path
    fillGroups(run, spec.graph, step.groups, left, path, 1)
    return true
  }

  private startRow(run: ExecutionContext): void {
    const { from, to, into } = this.spec
    this.from = run.frame[from] as NodeId
    this.ends = []
    this.nextEnd = 0
    if (this.from === 0) return
    this.search.start(run, this.from)
    const end = run.frame[to] as NodeId
    if (!into) this.ends = this.search.reachable(run)
    else if (end !== 0) this.ends = [end]
    run.frame[from] = this.from
  }
}

function connectingPath({ steps, into, keep, count, predicates }: PathSearchSpec): ConnectingPath | null {
  const [step] = steps
  const isOne = keep === 'shortest' && count === 1 && into && predicates.length === 0
  if (!isOne || steps.length > 1 || step === undefined) return null
  if (!step.isList || step.min > 1 || step.hops.length > 1 || step.repetition !== null) return null
  return new ConnectingPath(step.hops, step.max)
}
