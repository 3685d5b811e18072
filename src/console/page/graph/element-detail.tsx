// The details of a node or a relationship.
import type { ComponentChildren } from 'preact'
import { linkTo } from '../address.ts'
import { ExactNumber, plainValue } from '../exact-json.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { Failure, Loading } from '../parts/feedback.tsx'
import { kindColour } from '../parts/graph-picture/colours.ts'
import { Icon } from '../parts/icon.tsx'
import { PlainText } from '../parts/plain-text.tsx'
import { useData } from '../use-data.ts'
import type { ElementActions } from './element-actions.ts'
import { type PropertyOrigin, readEdgeTimes, readGroups, readNode } from './element-data.ts'
import type { ShownEdge, ShownNode } from './elements.ts'
import type { PictureContent } from './picture-content.ts'
import type { SchemaType } from './schema-data.ts'

interface DetailProps {
  readonly projectId: string
  readonly view: PictureContent
  readonly kinds: readonly string[]
  readonly types: readonly SchemaType[]
  readonly actions: ElementActions
  readonly onSelect: (key: string | null) => void
}

/** The details. */
export function ElementDetail(props: DetailProps & { readonly element: ShownNode | ShownEdge }) {
  const { element, onSelect } = props
  return (
    <div class="stack element-detail">
      <button type="button" class="quiet" onClick={() => onSelect(null)}>
        <Icon name="back" />
        All elements
      </button>
      {'source' in element ? <EdgeDetail {...props} edge={element} /> : <NodeDetail {...props} node={element} />}
    </div>
  )
}

function NodeDetail({ projectId, node, view, kinds, types, actions }: DetailProps & { readonly node: ShownNode }) {
  const { key, type, externalId, title } = node
  const dimensions = types.find(({ name }) => name === type)?.dimensions ?? []
  const hasName = type !== '' && externalId !== ''
  const data = useData(hasName ? (signal) => readNode(projectId, node, dimensions, signal) : null, [key, dimensions])
  const groups = useData(hasName ? (signal) => readGroups(projectId, node, signal) : null, [key])
  const expansion = view.expansions.get(key)
  const isPinned = view.pinned.has(key)
  const name = `${type}:${externalId}`
  const answered = data.value?.node ?? node.answered
  const left =
    expansion === undefined || expansion.total === null ? null : Math.max(0, expansion.total - expansion.added)
  return (
    <>
      <h3>
        <i style={{ background: kindColour(Math.max(0, kinds.indexOf(type))) }} />
        <PlainText text={title === '' ? 'A node that was never captured' : title} isCut />
      </h3>
      <div class="row detail-actions">
        <button type="button" onClick={() => actions.expand(key, null)} disabled={!hasName || left === 0}>
          <Icon name="expand" />
          {left === null
            ? expansion === undefined
              ? 'Expand'
              : 'Expand more'
            : left === 0
              ? 'Expanded'
              : `Expand (${left.toLocaleString('en')} left)`}
        </button>
        {expansion !== undefined && (
          <button type="button" onClick={() => actions.collapse(key)}>
            <Icon name="collapse" />
            Collapse
          </button>
        )}
        <button type="button" aria-pressed={isPinned} onClick={() => actions.pin(key)}>
          <Icon name="pin" />
          {isPinned ? 'Release' : 'Pin'}
        </button>
        <button type="button" onClick={() => actions.hide(key)}>
          <Icon name="hide" />
          Hide
        </button>
      </div>
      {hasName && (
        <p class="row quiet-text ask-links">
          <Icon name="ask" />
          Ask with it as <a href={linkTo('ask', { subject: name })}>subject</a> or{' '}
          <a href={linkTo('ask', { resource: name })}>resource</a>
        </p>
      )}
      {data.error !== null && <Failure error={data.error} retry={data.reload} />}
      {hasName && data.value === null && data.error === null && data.isLoading && answered === null && <Loading />}
      {hasName && data.value === null && data.error === null && !data.isLoading && (
        <p class="notice is-warn">
          <span>The graph does not have this node any more.</span>
        </p>
      )}
      <dl class="facts">
        <Fact title="Type">{type === '' ? 'none' : type}</Fact>
        <Fact title="External id">
          <PlainText text={externalId} /> {hasName && <CopyButton text={externalId} label="Copy the external id" />}
        </Fact>
        {answered !== null && answered.id !== '' && (
          <Fact title="Id">
            <code>{answered.id}</code>
          </Fact>
        )}
        {answered?.labels.some((label) => label !== type) === true && (
          <Fact title="Labels">
            {answered.labels
              .filter((label) => label !== type)
              .map((label) => (
                <span class="badge" key={label}>
                  {label}
                </span>
              ))}
          </Fact>
        )}
        {answered?.is_identity === true && <Fact title="Identity">may be the subject of a user token</Fact>}
        {node.location !== null && <Fact title="Location">{node.location}</Fact>}
        <Times create={data.value?.createTime ?? null} update={data.value?.updateTime ?? null} />
      </dl>
      {answered !== null && (
        <Properties properties={answered.properties} external={answered.external} origins={data.value?.origins ?? []} />
      )}
      {data.value !== null && data.value.trust.length > 0 && <TrustScore scores={data.value.trust} />}
      <section>
        <h4>Relationships</h4>
        {groups.error !== null && <Failure error={groups.error} retry={groups.reload} />}
        {groups.value === null && groups.error === null && hasName && <Loading />}
        {groups.value?.length === 0 && <p>This node has no relationships.</p>}
        <ul class="groups">
          {(groups.value ?? []).map((group) => (
            <li key={`${group.direction} ${group.type} ${group.other}`}>
              <button type="button" class="quiet" onClick={() => actions.expand(key, group)} title="Add to the picture">
                <span>
                  {group.direction === 'out' ? '→' : '←'}
                  <span class="visually-hidden">{group.direction === 'out' ? 'to' : 'from'}</span> <b>{group.type}</b>{' '}
                  <bdi>{group.other === '' ? 'a node without type' : group.other}</bdi>
                </span>
                <small>{group.count.toLocaleString('en')}</small>
              </button>
            </li>
          ))}
        </ul>
      </section>
    </>
  )
}

function EdgeDetail({ projectId, edge, view, actions, onSelect }: DetailProps & { readonly edge: ShownEdge }) {
  const source = view.nodes.get(edge.source)
  const target = view.nodes.get(edge.target)
  const hasName = source !== undefined && source.type !== ''
  const times = useData(hasName ? (signal) => readEdgeTimes(projectId, edge, source, signal) : null, [edge.key])
  const end = (node: ShownNode | undefined) =>
    node !== undefined && (
      <button type="button" class="quiet element" onClick={() => onSelect(node.key)}>
        <PlainText text={`${node.type}:${node.externalId}`} isCut />
      </button>
    )
  return (
    <>
      <h3>
        <i class="is-edge" />
        <PlainText text={edge.type} />
      </h3>
      <div class="row detail-actions">
        <button type="button" onClick={() => actions.hide(edge.key)}>
          <Icon name="hide" />
          Hide
        </button>
      </div>
      {times.error !== null && <Failure error={times.error} retry={times.reload} />}
      <dl class="facts">
        <Fact title="From">{end(source)}</Fact>
        <Fact title="To">{end(target)}</Fact>
        <Fact title="Id">
          <code>{edge.key}</code>
        </Fact>
        <Times create={times.value?.createTime ?? null} update={times.value?.updateTime ?? null} />
      </dl>
      <Properties properties={edge.answered.properties} external={edge.answered.external} origins={[]} />
    </>
  )
}

function Fact({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function Times({ create, update }: { readonly create: string | null; readonly update: string | null }) {
  return (
    <>
      {create !== null && <Fact title="Created">{timeText(create)}</Fact>}
      {update !== null && update !== create && <Fact title="Updated">{timeText(update)}</Fact>}
    </>
  )
}

function timeText(time: string) {
  return <time dateTime={time}>{time.replace('T', ' ').replace(/\.\d+Z$|Z$/, ' UTC')}</time>
}

function Properties(props: {
  readonly properties: Readonly<Record<string, unknown>>
  readonly external: Readonly<Record<string, unknown>> | undefined
  readonly origins: readonly PropertyOrigin[]
}) {
  const { properties, external = {}, origins } = props
  const originOf = (name: string): string => originText(origins.find((one) => one.name === name))
  const names = Object.keys(properties).sort()
  const supplied = Object.keys(external).sort()
  return (
    <section>
      <h4>Properties</h4>
      {names.length + supplied.length === 0 && <p>It has no properties.</p>}
      <dl class="property-list">
        {names.map((name) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <Value value={properties[name]} />
              {originOf(name) !== '' && (
                <small>
                  <PlainText text={originOf(name)} />
                </small>
              )}
            </dd>
          </div>
        ))}
        {supplied.map((name) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <span class="badge">external</span>
              <small>
                Supplied by the resolver <b>{String(external[name])}</b> when a policy reads it; it is not read here.
              </small>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

function Value({ value }: { readonly value: unknown }) {
  const kind =
    typeof value === 'string' ? 'is-text' : typeof value === 'number' || value instanceof ExactNumber ? 'is-number' : ''
  return (
    <span class={`value ${kind}`}>
      <PlainText text={plainValue(value)} />
    </span>
  )
}

/** One line about where a value comes from; empty: nothing is known. */
function originText(origin: PropertyOrigin | undefined): string {
  if (origin === undefined) return ''
  const { source, assurance_level, verified_time, custom_metadata } = origin
  const custom =
    typeof custom_metadata === 'object' && custom_metadata !== null
      ? Object.entries(custom_metadata).map(([name, value]) => `${name} ${plainValue(value)}`)
      : []
  return [
    ...(source === null ? [] : [`source ${plainValue(source)}`]),
    ...(assurance_level === null ? [] : [`assurance level ${plainValue(assurance_level)}`]),
    ...(verified_time === null ? [] : [`verified ${plainValue(verified_time)}`]),
    ...custom,
  ].join(' · ')
}

const FINAL = '_final_score'

function TrustScore({ scores }: { readonly scores: readonly (readonly [string, unknown])[] }) {
  const bars = scores.flatMap(([name, value]) => {
    const number = Number(value instanceof ExactNumber ? value.text : value)
    return name === 'formula_version' || !Number.isFinite(number) ? [] : [{ name, number }]
  })
  const sorted = bars.sort((a, b) => Number(b.name === FINAL) - Number(a.name === FINAL))
  return (
    <section>
      <h4>Trust score</h4>
      <ul class="trust">
        {sorted.map(({ name, number }) => (
          <li key={name} class={name === FINAL ? 'is-final' : undefined}>
            <span>{name === FINAL ? 'final score' : name}</span>
            <i aria-hidden="true">
              <i style={{ width: `${Math.min(1, Math.max(0, number)) * 100}%` }} />
            </i>
            <b class="is-number">{number.toFixed(2)}</b>
          </li>
        ))}
      </ul>
    </section>
  )
}
