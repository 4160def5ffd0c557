//! The nodes as a capability.

use super::Reference;
use crate::contract::{KswapdReply, KswapdStep, Nodes};
use crate::vocab::{NodeId, NodeState, ZoneIdx};

impl Nodes for Reference {
    fn node_count(&self) -> usize {
        self.nodes.len()
    }

    fn node_state(&self, node: NodeId) -> NodeState {
        self.nodes[node.index()].state
    }

    fn kswapd_step(&mut self, node: NodeId, reply: Option<KswapdReply>) -> KswapdStep {
        self.step_kswapd(node, reply)
    }

    fn for_each_zonelist(&self, node: NodeId, this_node: bool, visit: &mut dyn FnMut(ZoneIdx)) {
        let lists = &self.nodes[node.index()].lists;
        let list = if this_node { &lists.this_node } else { &lists.fallback };
        list.iter().for_each(|&z| visit(ZoneIdx(z as u8)));
    }

    fn rebuild_zonelists(&mut self) {
        self.build_zonelists();
    }
}
