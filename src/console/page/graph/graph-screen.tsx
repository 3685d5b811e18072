// The screen Graph: Cypher with its result as picture, table and JSON; search; details of elements; the data schema.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { replaceParameters } from '../address.ts'
import { ApiError } from '../api.ts'
import { parseValue } from '../ask/question.ts'
import { type NodeName, parseNodeName, queryGraph } from '../graph-api.ts'
import { Empty, Failure, Loading } from '../parts/feedback.tsx'
import type { PicturePlaces } from '../parts/graph-picture/arrange.ts'
import { Icon } from '../parts/icon.tsx'
import type { ParameterFields } from '../parts/parameter-fields.tsx'
import { Tabs } from '../parts/tabs.tsx'
import type { ScreenProps } from '../screen.ts'
import { useData } from '../use-data.ts'
import { readNamed, readNeighbours } from './element-data.ts'
import { collectElements, type GraphElements, nodeKey, noElements } from './elements.ts'
import { addToHistory, clearHistory, readHistory } from './history.ts'
import { NodeSearch } from './node-search.tsx'
import { type PictureContent, viewOf, withElements, withNeighbours } from './picture-content.ts'
import { PictureView } from './picture-view.tsx'
import { findingsOf, QueryForm, ROW_LIMITS } from './query-form.tsx'
import { ResultTable } from './result-table.tsx'
import { ResultHead, ResultJson } from './result-text.tsx'
import { exampleQueries, readSchema } from './schema-data.ts'
import { SchemaView } from './schema-view.tsx'

interface AskedQuery {
  readonly query: string
  readonly parameters: ParameterFields
  readonly limit: number
}

function askedIn(address: URLSearchParams): AskedQuery | null {
  const query = address.get('query') ?? ''
  const parameters = [...address].filter(([name]) => name.startsWith('$'))
  return query.trim() === ''
    ? null
    : { query, parameters: parameters.map(([name, value]) => [name.slice(1), value]), limit: ROW_LIMITS[1] }
}

/** The screen. */
export default function GraphScreen({ projectId, parameters }: ScreenProps) {
  const first = useMemo(() => askedIn(parameters), [])
  const [query, setQuery] = useState(first?.query ?? '')
  const [fields, setFields] = useState<ParameterFields>(first?.parameters ?? [])
  const [limit, setLimit] = useState<number>(ROW_LIMITS[1])
  const [asked, setAsked] = useState<AskedQuery | null>(null)
  /** The query of a link, until the user runs it: the author of the link must not run it with the rights of the user. */
  const [linked, setLinked] = useState(first)
  const [history, setHistory] = useState(() => readHistory(projectId))
  const [tab, setTab] = useState('schema')
  const [view, setView] = useState<PictureContent>(() => viewOf(noElements))
  const [selected, select] = useState<string | null>(null)
  const places = useRef<PicturePlaces>(new Map()).current
  const shownFor = useRef<AskedQuery | null>(null)
  const schema = useData((signal) => readSchema(projectId, signal), [projectId])
  const result = useData(
    asked === null
      ? null
      : (signal) => {
          const given = Object.fromEntries(asked.parameters.map(([name, value]) => [name, parseValue(value)]))
          return queryGraph(projectId, asked.query, given, { limit: asked.limit, signal })
        },
    [asked],
  )

  const run = (next: AskedQuery): void => {
    if (next.query.trim() === '') return
    setLinked(null)
    setQuery(next.query)
    setFields(next.parameters)
    setHistory(addToHistory(projectId, { query: next.query, parameters: next.parameters }))
    const named = next.parameters.map(([name, value]) => [`$${name}`, value] as const)
    replaceParameters({ query: next.query, ...Object.fromEntries(named) })
    setAsked({ ...next })
  }
  const runText = (text: string): void => run({ query: text, parameters: [], limit })

  // A link to another query, or the button Back.
  const address = parameters.toString()
  useEffect(() => {
    const given = askedIn(parameters)
    if (given === null || given.query === asked?.query) return
    setLinked(given)
    setQuery(given.query)
    setFields(given.parameters)
  }, [address])
  useEffect(() => {
    // Read again after the service was away: the picture stays as the user left it.
    if (result.value === null || shownFor.current === asked) return
    shownFor.current = asked
    const elements = collectElements(result.value.rows)
    places.clear()
    select(null)
    setView(viewOf(elements))
    setTab((now) => (elements.nodes.size === 0 ? 'table' : now === 'schema' ? 'picture' : now))
  }, [result.value])

  const [searchError, setSearchError] = useState<Error | null>(null)
  const show = (elements: GraphElements, key: string): void => {
    setView((now) => withElements(now, elements, null))
    select(key)
    setTab('picture')
  }
  const showNode = async (name: NodeName, isExpanded: boolean): Promise<void> => {
    const { signal } = new AbortController()
    const elements = await readNamed(projectId, name, signal)
    const key = nodeKey(name.type, name.id)
    const node = elements.nodes.get(key)
    if (node === undefined) throw new Error(`The graph has no ${name.type} “${name.id}”.`)
    show(elements, key)
    if (!isExpanded) return
    const { elements: near, total } = await readNeighbours(projectId, node, 0, null, signal)
    setView((now) => withNeighbours(now, key, near, total))
  }
  const search = (name: NodeName, isExpanded = false): void => {
    setSearchError(null)
    showNode(name, isExpanded).catch(setSearchError)
  }
  const named = parameters.get('node')
  useEffect(() => {
    if (named !== null) search(parseNodeName(named), true)
  }, [named])

  if (schema.error instanceof ApiError && schema.error.status === 403)
    return (
      <div class="stack gap-18 graph">
        <Head />
        <Empty icon="graph" title="This account may not read the graph">
          <p>{schema.error.message}</p>
        </Empty>
      </div>
    )
  const types = schema.value?.types ?? []
  const kinds = types.map(({ name }) => name)
  const isStale = asked !== null && (result.value === null || result.isLoading)
  const waiting = asked !== null && result.value === null && result.error === null
  const isMarked = result.error !== null && asked?.query === query && findingsOf(result.error, query).length > 0
  const noResult = (
    <Empty icon="graph" title="Nothing is shown yet">
      <p>Run a query, choose one of the examples, or find a node.</p>
    </Empty>
  )
  return (
    <div class="stack gap-18 graph">
      <Head />
      <QueryForm
        projectId={projectId}
        query={query}
        parameters={fields}
        limit={limit}
        error={result.error}
        failedQuery={asked?.query ?? ''}
        isRunning={asked !== null && result.isLoading}
        examples={schema.value === null ? [] : exampleQueries(schema.value)}
        history={history}
        onQuery={setQuery}
        onParameters={setFields}
        onLimit={setLimit}
        onRun={() => run({ query, parameters: fields, limit })}
        onChoose={(typed) => run({ ...typed, limit })}
        onClearHistory={() => setHistory(clearHistory(projectId))}
      />
      {linked !== null && linked.query === query && (
        <p class="notice" role="status">
          <Icon name="warning" />
          <span>The address has this query. It has not run: read it, then run it.</span>
        </p>
      )}
      <section aria-label="Result" aria-busy={isStale} class="card stack gap-8 graph-result">
        <div class="card-head">
          <NodeSearch projectId={projectId} types={kinds} onChoose={search} />
          {result.value !== null && <ResultHead result={result.value} />}
        </div>
        {searchError !== null && <Failure error={searchError} />}
        {result.error !== null &&
          (isMarked ? (
            <p class="notice is-bad" role="alert">
              <Icon name="warning" />
              <span>The query was refused. The editor marks the place.</span>
            </p>
          ) : (
            <Failure error={result.error} retry={result.reload} />
          ))}
        <Tabs
          label="Result"
          selected={tab}
          onSelect={setTab}
          tabs={[
            {
              id: 'picture',
              title: 'Picture',
              content: () =>
                waiting ? (
                  <Loading label="Running the query" />
                ) : view.nodes.size === 0 ? (
                  result.value === null ? (
                    noResult
                  ) : (
                    <Empty icon="graph" title="The result has no nodes or relationships">
                      <p>The table shows its values.</p>
                    </Empty>
                  )
                ) : (
                  <PictureView
                    projectId={projectId}
                    view={view}
                    onView={setView}
                    selected={selected}
                    onSelect={select}
                    types={types}
                    places={places}
                  />
                ),
            },
            {
              id: 'table',
              title: 'Table',
              content: () =>
                result.value === null ? (
                  noResult
                ) : (
                  <ResultTable
                    key={asked?.query}
                    result={result.value}
                    onNode={(key) => {
                      select(key)
                      setTab('picture')
                    }}
                  />
                ),
            },
            {
              id: 'json',
              title: 'JSON',
              content: () => (result.value === null ? noResult : <ResultJson result={result.value} />),
            },
            {
              id: 'schema',
              title: 'Data schema',
              content: () =>
                schema.value !== null ? (
                  <SchemaView schema={schema.value} onQuery={runText} />
                ) : schema.error !== null ? (
                  <Failure error={schema.error} retry={schema.reload} />
                ) : (
                  <Loading label="Reading the data schema" />
                ),
            },
          ]}
        />
      </section>
    </div>
  )
}

function Head() {
  return (
    <header class="screen-head">
      <h1>Graph</h1>
      <p>Read the graph of the project with Cypher, and look at its elements.</p>
    </header>
  )
}
