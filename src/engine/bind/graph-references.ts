// The graphs that a query names by USE. A name is a literal location or one parameter
// (docs/decisions/0002-composite-projects-and-locations.md).
import type { UseClause } from '../../../grammar/ast.ts'
import type { Diagnostic } from '../../../grammar/diagnostic.ts'
import type { GraphReference } from './bound.ts'
import type { Dialect } from './dialect.ts'

/** Collects the graphs of one query. Index 0 is the default graph. */
export class GraphReferences {
  readonly references: GraphReference[] = [{ kind: 'default' }]
  private readonly dialect: Dialect
  private readonly report: (diagnostic: Diagnostic) => void
  private readonly uses: UseClause[] = []

  constructor(dialect: Dialect, report: (diagnostic: Diagnostic) => void) {
    this.dialect = dialect
    this.report = report
  }

  /** The index of the graph that a USE clause names. Reports an argument that cannot name a location. */
  index(clause: UseClause): number {
    const { argument, span } = clause
    if (argument.kind === 'string') return this.indexOf({ kind: 'location', name: argument.value })
    if (argument.kind === 'parameter') {
      if (this.dialect.nonLocationParameters.has(argument.name)) {
        const message = `parameter "$${argument.name}" is reserved and cannot name a location`
        this.report({ code: 'ReservedParameter', message, span: argument.span })
      }
      this.uses.push(clause)
      return this.indexOf({ kind: 'parameter', name: argument.name })
    }
    const message = 'graph.byName takes a literal location or one parameter'
    this.report({ code: 'InvalidGraphReference', message, span })
    return 0
  }

  private indexOf(reference: Exclude<GraphReference, { kind: 'default' }>): number {
    const known = this.references.findIndex((other) => other.kind === reference.kind && other.name === reference.name)
    return known >= 0 ? known : this.references.push(reference) - 1
  }

  /** Reports every location parameter that the query also reads as a value: it must not be referenced elsewhere. */
  rejectOtherUses(parameters: ReadonlySet<string>): void {
    for (const { argument } of this.uses) {
      if (argument.kind !== 'parameter' || !parameters.has(argument.name)) continue
      const message = `location parameter "$${argument.name}" must not be referenced elsewhere`
      this.report({ code: 'InvalidParameterUse', message, span: argument.span })
    }
  }
}
