// Checks that an imported node goes to the constituent of a composite graph where a capture would store it. Only an export
// may write to the global graph: its nodes there are proxies, which only the service creates.
import { compositeLocationMessage, unknownLocationMessage } from '../../config/db-connection.ts'
import { constituentFolderName } from '../../store/tenancy/project-folders.ts'
import type { GraphLayout } from '../../store/tenancy/project-graphs.ts'
import { LineError } from '../lines/line-fields.ts'

/** Checks the locations of the nodes of one constituent. */
export class LocationCheck {
  private readonly layout: GraphLayout
  private readonly part: string

  /**
   * @param layout The constituents of the project and the locations mapped to them.
   * @param part The constituent that lines are imported into, as its path below the folder of the project.
   */
  constructor(layout: GraphLayout, part: string) {
    this.layout = layout
    this.part = part
  }

  /** Throws LineError if a node with this location does not belong to the constituent. */
  check(location: string | undefined, isExport: boolean): void {
    const { layout, part } = this
    if (layout.isInServer === true)
      throw new LineError('node', 'the graph of this project is in a database server: use `verdigraph copy`')
    if (part === 'global' && !isExport) throw new LineError('node', compositeLocationMessage('`global`'))
    if (location === undefined) {
      if (part === 'default' || isExport) return
      throw new LineError(
        'node.location',
        'expected a string, found nothing: a node without a location is stored in `default`',
      )
    }
    const constituent = layout.locations.get(location)
    if (constituent === undefined)
      throw new LineError('node.location', unknownLocationMessage(location, layout.isComposite))
    if (constituent === 'global') throw new LineError('node.location', compositeLocationMessage(location))
    const home = constituentFolderName(constituent)
    if (home !== part && part !== 'global')
      throw new LineError('node.location', `nodes of ${location} are stored in \`${home}\``)
  }
}
