// Finds a node by type, external id and name, and adds it to the picture.
import { useState } from 'preact/hooks'
import { findNodes, type NodeName, parseNodeName } from '../graph-api.ts'
import { Combobox, type Suggestion } from '../parts/combobox.tsx'

/** The field. `types`: the types of the project. */
export function NodeSearch(props: {
  readonly projectId: string
  readonly types: readonly string[]
  readonly onChoose: (node: NodeName) => void
}) {
  const { projectId, types, onChoose } = props
  const [text, setText] = useState('')
  const isNode = (value: string): boolean => {
    const { type, id } = parseNodeName(value)
    return type !== '' && id !== ''
  }
  const suggest = async (typed: string, signal: AbortSignal): Promise<readonly Suggestion[]> => {
    const ofTypes = types
      .filter((type) => !typed.includes(':') && type.toLowerCase().startsWith(typed.trim().toLowerCase()))
      .map((type) => ({ value: `${type}:`, note: 'type' }))
    const found = await findNodes(projectId, parseNodeName(typed), signal)
    return [
      ...ofTypes,
      ...found.map(({ type, id, title }) => ({ value: `${type}:${id}`, ...(title !== '' && { note: title }) })),
    ]
  }
  return (
    <form
      class="node-search"
      aria-label="Find a node"
      onSubmit={(event) => {
        event.preventDefault()
        if (isNode(text)) onChoose(parseNodeName(text))
      }}
    >
      <Combobox
        label="Find a node"
        placeholder="Find a node, such as Person:ann"
        value={text}
        onInput={setText}
        onEnter={() => isNode(text) && onChoose(parseNodeName(text))}
        suggest={suggest}
        inputs={[projectId, types]}
      />
      <button type="submit" disabled={!isNode(text)}>
        Show
      </button>
    </form>
  )
}
