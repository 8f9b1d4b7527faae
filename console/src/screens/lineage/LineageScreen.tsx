export { PendingScreen as LineageScreen } from '../pending/PendingScreen.js'
