//! Leases in etcd, over gRPC: a lease is granted, and the key put with it if it is absent; released, the
//! lease is revoked, which deletes the key. Renewals go over one stream a client, as etcd's own
//! clients do it. Or one lease serves all that a client holds, and a release deletes the key alone.

use crate::{Client, Result};
use prost::Message;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Streaming};
use tonic_prost::ProstCodec;

const TTL_S: i64 = 12 * 3600;

/// etcd's messages (rpc.proto), as far as they are used here.
mod proto {
    use prost::Message;

    /// LeaseGrantRequest
    #[derive(Clone, PartialEq, Message)]
    pub struct Grant {
        #[prost(int64, tag = "1")]
        pub ttl: i64,
    }

    /// LeaseGrantResponse
    #[derive(Clone, PartialEq, Message)]
    pub struct Granted {
        #[prost(int64, tag = "2")]
        pub id: i64,
    }

    /// LeaseRevokeRequest, LeaseKeepAliveRequest
    #[derive(Clone, PartialEq, Message)]
    pub struct Id {
        #[prost(int64, tag = "1")]
        pub id: i64,
    }

    /// Whatever is not looked at.
    #[derive(Clone, PartialEq, Message)]
    pub struct Ignored {}

    /// LeaseKeepAliveResponse
    #[derive(Clone, PartialEq, Message)]
    pub struct KeptAlive {
        #[prost(int64, tag = "2")]
        pub id: i64,
        #[prost(int64, tag = "3")]
        pub ttl: i64,
    }

    /// TxnRequest
    #[derive(Clone, PartialEq, Message)]
    pub struct Txn {
        #[prost(message, repeated, tag = "1")]
        pub compare: Vec<Compare>,
        #[prost(message, repeated, tag = "2")]
        pub success: Vec<Op>,
    }

    /// Compare, of a key's create_revision: its result EQUAL is 0, its target CREATE is 1
    #[derive(Clone, PartialEq, Message)]
    pub struct Compare {
        #[prost(int32, tag = "2")]
        pub target: i32,
        #[prost(bytes = "vec", tag = "3")]
        pub key: Vec<u8>,
        #[prost(int64, optional, tag = "5")]
        pub create_revision: Option<i64>,
    }

    /// RequestOp with a PutRequest
    #[derive(Clone, PartialEq, Message)]
    pub struct Op {
        #[prost(message, optional, tag = "2")]
        pub put: Option<Put>,
    }

    /// PutRequest
    #[derive(Clone, PartialEq, Message)]
    pub struct Put {
        #[prost(bytes = "vec", tag = "1")]
        pub key: Vec<u8>,
        #[prost(bytes = "vec", tag = "2")]
        pub value: Vec<u8>,
        #[prost(int64, tag = "3")]
        pub lease: i64,
    }

    /// DeleteRangeRequest
    #[derive(Clone, PartialEq, Message)]
    pub struct Delete {
        #[prost(bytes = "vec", tag = "1")]
        pub key: Vec<u8>,
    }

    /// DeleteRangeResponse
    #[derive(Clone, PartialEq, Message)]
    pub struct Deleted {
        #[prost(int64, tag = "2")]
        pub deleted: i64,
    }

    /// TxnResponse
    #[derive(Clone, PartialEq, Message)]
    pub struct Done {
        #[prost(bool, tag = "2")]
        pub succeeded: bool,
    }
}
use proto::*;

/// A connection, and its stream of renewals.
pub struct Etcd {
    grpc: Grpc<Channel>,
    /// Opened by the first renewal: etcd answers nothing before that.
    renewals: Option<(mpsc::Sender<Id>, Streaming<KeptAlive>)>,
}

impl Etcd {
    async fn open(grpc: &mut Grpc<Channel>, first: Id) -> Result<(mpsc::Sender<Id>, Streaming<KeptAlive>)> {
        let (sender, requests) = mpsc::channel(1);
        sender.send(first).await?;
        let path = PathAndQuery::from_static("/etcdserverpb.Lease/LeaseKeepAlive");
        grpc.ready().await?;
        let answer = grpc.streaming(Request::new(ReceiverStream::new(requests)), path, ProstCodec::default()).await?;
        Ok((sender, answer.into_inner()))
    }
}

async fn call<A, B>(grpc: &mut Grpc<Channel>, path: &'static str, request: A) -> Result<B>
where
    A: Message + 'static,
    B: Message + Default + 'static,
{
    grpc.ready().await?;
    let answer =
        grpc.unary(Request::new(request), PathAndQuery::from_static(path), ProstCodec::<A, B>::default()).await?;
    Ok(answer.into_inner())
}

async fn grant(grpc: &mut Grpc<Channel>) -> Result<i64> {
    let lease: Granted = call(grpc, "/etcdserverpb.Lease/LeaseGrant", Grant { ttl: TTL_S }).await?;
    Ok(lease.id)
}

async fn put_if_absent(grpc: &mut Grpc<Channel>, key: &str, lease: i64) -> Result<()> {
    let put = Put { key: key.into(), value: b"bench".into(), lease };
    let absent = Compare { target: 1, key: key.into(), create_revision: Some(0) };
    let txn = Txn { compare: vec![absent], success: vec![Op { put: Some(put) }] };
    match call(grpc, "/etcdserverpb.KV/Txn", txn).await? {
        Done { succeeded: true } => Ok(()),
        Done { succeeded: false } => Err(format!("{key} is held").into()),
    }
}

impl Client for Etcd {
    type Held = i64;

    async fn connect(socket: &str) -> Result<Self> {
        let grpc = Grpc::new(Endpoint::from_shared(format!("unix:{socket}"))?.connect().await?);
        Ok(Etcd { grpc, renewals: None })
    }

    async fn acquire(&mut self, key: &str) -> Result<i64> {
        let lease = grant(&mut self.grpc).await?;
        put_if_absent(&mut self.grpc, key, lease).await?;
        Ok(lease)
    }

    async fn renew(&mut self, _: &str, &id: &i64) -> Result<()> {
        match &mut self.renewals {
            Some((sender, _)) => sender.send(Id { id }).await?,
            none => *none = Some(Etcd::open(&mut self.grpc, Id { id }).await?),
        }
        let Some((_, answers)) = &mut self.renewals else { unreachable!("opened above") };
        match answers.message().await? {
            Some(answer) if answer.id == id && answer.ttl > 0 => Ok(()),
            answer => Err(format!("not kept alive: {answer:?}").into()),
        }
    }

    async fn release(&mut self, _: &str, id: i64) -> Result<()> {
        let _: Ignored = call(&mut self.grpc, "/etcdserverpb.Lease/LeaseRevoke", Id { id }).await?;
        Ok(())
    }
}

/// A connection, and one lease for whatever it holds.
pub struct Session {
    etcd: Etcd,
    lease: i64,
}

impl Client for Session {
    type Held = ();

    async fn connect(socket: &str) -> Result<Self> {
        let mut etcd = Etcd::connect(socket).await?;
        let lease = grant(&mut etcd.grpc).await?;
        Ok(Session { etcd, lease })
    }

    async fn acquire(&mut self, key: &str) -> Result<()> {
        put_if_absent(&mut self.etcd.grpc, key, self.lease).await
    }

    async fn renew(&mut self, key: &str, (): &()) -> Result<()> {
        self.etcd.renew(key, &self.lease).await
    }

    async fn release(&mut self, key: &str, (): ()) -> Result<()> {
        match call(&mut self.etcd.grpc, "/etcdserverpb.KV/DeleteRange", Delete { key: key.into() }).await? {
            Deleted { deleted: 1 } => Ok(()),
            Deleted { deleted } => Err(format!("{deleted} keys deleted, not 1").into()),
        }
    }
}
