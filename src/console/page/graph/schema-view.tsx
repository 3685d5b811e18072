// The data schema: types of nodes and relationships as a picture and as tables. Choosing one gives a query.
import { useMemo, useRef, useState } from 'preact/hooks'
import { Empty } from '../parts/feedback.tsx'
import type { PicturePlaces } from '../parts/graph-picture/arrange.ts'
import { colourOrder } from '../parts/graph-picture/colour-order.ts'
import { kindColour } from '../parts/graph-picture/colours.ts'
import { GraphPicture } from '../parts/graph-picture/graph-picture.tsx'
import { Icon } from '../parts/icon.tsx'
import { count } from './result-text.tsx'
import { relationQuery, type SchemaProperty, type SchemaRelation, type ShownSchema, typeQuery } from './schema-data.ts'

function relationKey({ source, type, target }: SchemaRelation): string {
  return JSON.stringify([source, type, target])
}

/** The schema. `onQuery`: runs a query. */
export function SchemaView({
  schema,
  onQuery,
}: {
  readonly schema: ShownSchema
  readonly onQuery: (query: string) => void
}) {
  const { types, relations } = schema
  const [selected, select] = useState<string | null>(null)
  const places = useRef<PicturePlaces>(new Map()).current
  const kinds = useMemo(() => colourOrder(types.map(({ name }) => name)), [types])
  const nodes = useMemo(
    () =>
      types.map(({ name, count: own }) => ({
        key: name,
        title: name,
        kind: name,
        radius: 16 + 5 * Math.log10(own + 1),
      })),
    [types],
  )
  const edges = useMemo(
    () => relations.map((one) => ({ key: relationKey(one), source: one.source, target: one.target, title: one.type })),
    [relations],
  )
  if (types.length === 0)
    return (
      <Empty icon="graph" title="The graph is empty">
        <p>
          Capture nodes and relationships with the <a href="/docs">capture API</a>.
        </p>
      </Empty>
    )
  const type = types.find(({ name }) => name === selected)
  const relation = relations.find((one) => relationKey(one) === selected)
  const total = types.reduce((sum, one) => sum + one.count, 0)
  const links = relations.reduce((sum, one) => sum + one.count, 0)
  return (
    <div class="picture-view">
      <div>
        <GraphPicture
          label={`Picture of ${count(types.length, 'type')} of nodes and ${count(relations.length, 'kind')} of relationships. The tables next to it have the same content.`}
          nodes={nodes}
          edges={edges}
          kinds={kinds}
          selected={selected}
          onSelect={select}
          onOpen={(name) => onQuery(typeQuery(name))}
          keysHint="Enter shows nodes of the selected type."
          edgeLength={150}
          places={places}
        />
        <p class="quiet-text schema-total">
          {count(total, 'node')} and {count(links, 'relationship')} in the graph
        </p>
      </div>
      <aside aria-label="Data schema" class="schema">
        {type !== undefined ? (
          <div class="stack element-detail">
            <Back onClick={() => select(null)} />
            <h3>
              <i style={{ background: kindColour(kinds.indexOf(type.name)) }} />
              <bdi>{type.name}</bdi>
            </h3>
            <p>
              {count(type.count, 'node')}
              {type.identities > 0 && `, ${type.identities.toLocaleString('en')} of them identities`}
            </p>
            <button type="button" onClick={() => onQuery(typeQuery(type.name))}>
              <Icon name="search" />
              Show nodes
            </button>
            {type.labels.length > 0 && (
              <section>
                <h4>Labels</h4>
                <p>
                  {type.labels.map(({ name, count: own }) => (
                    <span class="badge" key={name}>
                      {name} {own.toLocaleString('en')}
                    </span>
                  ))}
                </p>
              </section>
            )}
            <PropertyTable properties={type.properties} all={type.count} />
            <section>
              <h4>Relationships</h4>
              <RelationTable
                relations={relations.filter(({ source, target }) => source === type.name || target === type.name)}
                onSelect={select}
              />
            </section>
          </div>
        ) : relation !== undefined ? (
          <div class="stack element-detail">
            <Back onClick={() => select(null)} />
            <h3>
              <i class="is-edge" />
              <bdi>{relation.type}</bdi>
            </h3>
            <p>
              {relation.source} → {relation.target}: {count(relation.count, 'relationship')}
            </p>
            <button type="button" onClick={() => onQuery(relationQuery(relation))}>
              <Icon name="search" />
              Show relationships
            </button>
            <PropertyTable properties={relation.properties} all={relation.count} />
          </div>
        ) : (
          <>
            <section>
              <h3>Types of nodes</h3>
              <table>
                <thead>
                  <tr>
                    <th scope="col">Type</th>
                    <th scope="col" class="is-number">
                      Nodes
                    </th>
                    <th scope="col" class="is-number">
                      Properties
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {types.map(({ name, count: own, properties }) => (
                    <tr key={name}>
                      <td>
                        <button type="button" class="quiet element" onClick={() => select(name)}>
                          <i style={{ background: kindColour(kinds.indexOf(name)) }} />
                          <bdi>{name}</bdi>
                        </button>
                      </td>
                      <td class="is-number">{own.toLocaleString('en')}</td>
                      <td class="is-number">{properties.length}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </section>
            <section>
              <h3>Relationships</h3>
              <RelationTable relations={relations} onSelect={select} />
            </section>
          </>
        )}
      </aside>
    </div>
  )
}

function Back({ onClick }: { readonly onClick: () => void }) {
  return (
    <button type="button" class="quiet" onClick={onClick}>
      <Icon name="back" />
      The whole schema
    </button>
  )
}

function RelationTable(props: {
  readonly relations: readonly SchemaRelation[]
  readonly onSelect: (key: string) => void
}) {
  if (props.relations.length === 0) return <p>It has no relationships.</p>
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Relationship</th>
          <th scope="col" class="is-number">
            Number
          </th>
        </tr>
      </thead>
      <tbody>
        {props.relations.map((one) => (
          <tr key={relationKey(one)}>
            <td>
              <bdi>{one.source}</bdi>{' '}
              <button type="button" class="quiet element" onClick={() => props.onSelect(relationKey(one))}>
                <bdi>{one.type}</bdi>
              </button>{' '}
              <bdi>{one.target}</bdi>
            </td>
            <td class="is-number">{one.count.toLocaleString('en')}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** `all`: the number of elements that could have a property. */
function PropertyTable({ properties, all }: { readonly properties: readonly SchemaProperty[]; readonly all: number }) {
  return (
    <section>
      <h4>Properties</h4>
      {properties.length === 0 ? (
        <p>It has no properties.</p>
      ) : (
        <table>
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Kind</th>
              <th scope="col" class="is-number">
                On
              </th>
            </tr>
          </thead>
          <tbody>
            {properties.map(({ name, count: own, kinds }) => (
              <tr key={name}>
                <td>
                  <bdi>{name}</bdi>
                </td>
                <td>{kinds.join(', ')}</td>
                <td class="is-number" title={`${own} of ${all}`}>
                  {own === all ? 'all' : `${Math.round((own / all) * 100)} %`}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}
