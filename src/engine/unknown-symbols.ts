// Finds the labels, relationship types and properties of a text that the graph has never seen, or that the model does not declare: most
// are spelling mistakes. It reads names only, so it costs the same for every graph (docs/decisions/0008-policy-filters-and-parameters.md).
import { type Diagnostic, type Position, positionOf } from '../../grammar/diagnostic.ts'
import { nearestName } from '../../grammar/suggest.ts'
import { protectedNames } from '../kernel/element-rules.ts'
import { cypherName } from '../kernel/text/cypher-names.ts'
import type { NamedSymbol } from './bind/bound.ts'
import type { Snapshot, SymbolKind } from './store.ts'
import { nodeFieldNames } from './value/element-properties.ts'

export type { NamedSymbol } from './bind/bound.ts'

/**
 * A warning about a text that compiles, with its position.
 *
 * @example
 * const warning: TextWarning = {
 *   code: 'UnknownRelationshipType',
 *   message: 'no relationship of type `WROT` was ever captured; did you mean `[:WROTE]`?',
 *   span: { start: 25, end: 29 },
 *   line: 1,
 *   column: 26,
 * }
 */
export interface TextWarning extends Diagnostic, Position {}

/** A name, and the element that has the property if it is known. */
type SymbolName = Pick<NamedSymbol, 'kind' | 'name'> & Partial<Pick<NamedSymbol, 'element'>>

/** Names that one check compares for all its suggestions, which takes at most some 20 ms. */
const COMPARISONS_MAX = 20_000

/** Where names come from: what was captured, or what the model of the project declares. */
type NameOrigin = 'captured' | 'declared'

/** The names that a graph has seen, or a model declares. */
export type KnownSymbols = Pick<Snapshot, 'symbol' | 'symbolNames'>

/** Finds the given names that several sources together do not know. Valid while the snapshots are open. */
export class UnknownSymbols {
  /** False if nothing was captured yet: then every name is unknown, and no warning has a meaning. */
  readonly isMeaningful: boolean
  private readonly snapshots: readonly KnownSymbols[]
  private readonly origin: NameOrigin
  private readonly suggestions = new Map<string, string | null>()
  private comparisonsLeft = COMPARISONS_MAX

  constructor(snapshots: readonly KnownSymbols[], origin: NameOrigin = 'captured') {
    this.snapshots = snapshots
    this.origin = origin
    // Names that begin with an underscore are those of the service's own nodes.
    this.isMeaningful =
      origin === 'declared' ||
      snapshots.some((snapshot) => {
        for (const name of snapshot.symbolNames('label')) if (!isReserved(name)) return true
        return false
      })
  }

  /** The message for a name that no source knows; null if one does, or if nothing was captured yet. */
  messageFor({ kind, name, element = null }: SymbolName): string | null {
    if (!this.isMeaningful || this.snapshots.some((snapshot) => snapshot.symbol(kind, name) !== 0)) return null
    const ownField = element === null ? undefined : ownFieldMessages[element].get(name)
    if (ownField !== undefined) return ownField
    const suggested = this.suggestionFor(kind, name)
    // The service may write a name of its own later.
    if (suggested === null && isReserved(name)) return null
    const { found, written } = symbolPhrases[kind]
    const fault = this.origin === 'captured' ? `${found(name)} was ever captured` : `the model declares ${found(name)}`
    return `${fault}${suggested === null ? '' : `; did you mean ${written(suggested)}?`}`
  }

  /** The known name that a name most likely stands for; null: none is near. */
  suggestionFor(kind: SymbolKind, name: string): string | null {
    const key = `${kind} ${name}`
    const known = this.suggestions.get(key)
    if (known !== undefined) return known
    const suggestion = nearestName(name, this.candidates(kind, name))
    this.suggestions.set(key, suggestion)
    return suggestion
  }

  private *candidates(kind: SymbolKind, unknown: string): Iterable<string> {
    const reserved = isReserved(unknown)
    // Relationships have no such fields: a text that reads one of them does not mean another.
    if (kind === 'property' && !nodeFieldNames.includes(unknown)) yield* nodeFieldNames
    for (const snapshot of this.snapshots) {
      for (const name of snapshot.symbolNames(kind)) {
        // Markers of the store begin with a control character.
        if (name < ' ' || isReserved(name) !== reserved) continue
        if (this.comparisonsLeft === 0) return
        this.comparisonsLeft -= 1
        yield name
      }
    }
  }
}

/** A warning for each place of a text that names what the graphs have never seen, in the order of the text. */
export function unknownSymbolWarnings(
  text: string,
  symbols: readonly NamedSymbol[],
  unknown: UnknownSymbols,
): readonly TextWarning[] {
  return symbols
    .flatMap((symbol) => {
      const message = unknown.messageFor(symbol)
      if (message === null) return []
      const { kind, span } = symbol
      return [{ code: symbolPhrases[kind].code, message, span, ...positionOf(text, span.start) }]
    })
    .sort((a, b) => a.span.start - b.span.start)
}

/**
 * Messages for properties with the name of an own field, of which no capture accepts any but `type`: they name what reads the field
 * in Cypher (docs/decisions/0004-element-fields-and-values.md).
 */
const ownFieldMessages: Readonly<Record<NonNullable<NamedSymbol['element']>, ReadonlyMap<string, string>>> = {
  node: new Map([
    ['id', "nodes have no property `id`: `n.external_id` is the external id, and `graph.field(n, 'id')` the id"],
    // The own fields themselves are no symbols, so the text reads `n.property.type`.
    ...nodeFieldNames
      .filter((name) => protectedNames.has(name) || name === 'type')
      .map((name) => [name, `nodes have no property \`${name}\`: the own field is \`n.${name}\``] as const),
  ]),
  relationship: new Map([
    ['type', 'relationships have no property `type`: their type is `type(r)`'],
    ...['id', 'create_time', 'update_time'].map(
      (name) =>
        [name, `relationships have no property \`${name}\`: the own field is \`graph.field(r, '${name}')\``] as const,
    ),
    ['external_id', 'relationships have no `external_id`'],
  ]),
}

interface SymbolPhrases {
  readonly code: string
  found(name: string): string
  /** A name as it is written in a pattern. */
  written(name: string): string
}

/** How messages name a symbol. */
export const symbolPhrases: Readonly<Record<SymbolKind, SymbolPhrases>> = {
  label: {
    code: 'UnknownLabel',
    found: (name) => `no node with the label \`${name}\``,
    written: (name) => `\`(:${cypherName(name)})\``,
  },
  type: {
    code: 'UnknownRelationshipType',
    found: (name) => `no relationship of type \`${name}\``,
    written: (name) => `\`[:${cypherName(name)}]\``,
  },
  property: {
    code: 'UnknownProperty',
    found: (name) => `no property \`${name}\``,
    written: (name) => `\`${name}\``,
  },
}

function isReserved(name: string): boolean {
  return name.startsWith('_')
}
