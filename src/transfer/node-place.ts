// Where the nodes of lines may go: into the part of a composite graph into which a capture would put them. What an export
// says of the global graph is of proxies, which only the service writes.
import { keepsNoNodes, unknownLocation } from '../config/db-connection.ts'
import type { GraphLayout } from '../engine/store.ts'
import { folderOfPart } from '../store/project-folders.ts'
import { LineFault } from './line-fields.ts'

export class NodePlace {
  private readonly layout: GraphLayout
  private readonly part: string

  /** `part`: the path below the folder of the project. */
  constructor(layout: GraphLayout, part: string) {
    this.layout = layout
    this.part = part
  }

  /** Throws LineFault. */
  expect(location: string | undefined, isExport: boolean): void {
    const { layout, part } = this
    if (part === 'global' && !isExport) throw new LineFault('node', keepsNoNodes('`global`'))
    if (location === undefined) {
      if (part === 'default' || isExport) return
      throw new LineFault('node.location', 'expected a string, found nothing: without one it is kept in `default`')
    }
    const constituent = layout.locations.get(location)
    if (constituent === undefined) throw new LineFault('node.location', unknownLocation(location, layout.isComposite))
    if (constituent === 'global') throw new LineFault('node.location', keepsNoNodes(location))
    const home = folderOfPart(constituent)
    if (home !== part && part !== 'global') throw new LineFault('node.location', `${location} is kept in \`${home}\``)
  }
}
